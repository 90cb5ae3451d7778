// Collections of other libraries: what doclock reads and writes in all of them, beside re-creations
// of those libraries (LockPeer).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <ostream>
#include <thread>

#include "doclock/lock_admin.h"
#include "doclock/lock_provider.h"
#include "doclock/open_store.h"
#include "mongodb/layouts/layout.h"
#include "mongodb/layouts/layout_fixture.h"
#include "mongodb/support/fail_point.h"
#include "process/child.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Doc;
using ::testing::HasSubstr;

/// Of all layouts, and some time for the test.
constexpr std::chrono::milliseconds kMostMargin{1500};

/// What the tests need to know of a layout.
struct Case {
  std::string layout;
  /// Updates of a free lock that spoil it, each with the field that is named for it.
  std::map<std::string, std::string> spoilt;
  /// Updates of a free lock that leave it free.
  std::vector<std::string> harmless;
  /// What a document holds of its lock besides name and holder; live for long.
  std::string live;
  Doc (*holder)(const Uuid& id);   ///< The field.
  bool has_token;                  ///< Do the other library's locks have one?
  const char* release = "delete";  ///< The command.
  bool stores_fence = true;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.layout; }

Doc Hex(const Uuid& id) {
  std::string text = to_string(id);
  std::erase(text, '-');
  return Doc::Of("lockId", text);
}
Doc WithFence(const Uuid& id) { return Doc::Of("ownerId", to_string(id) + "/1"); }
Doc Binary(const Uuid& id) { return Doc::Of("LockId", id); }

const Case kCases[] = {
    {"distributedlock",
     {{R"({"$set": {"lockVersion": 1}})", "lockVersion"},
      {R"({"$set": {"lockId": null}})", "lockId"},
      {R"({"$set": {"lockId": "not 32 digits"}})", "lockId"},
      {R"({"$set": {"lockId": "0123456789ABCDEF0123456789ABCDEF"}})", "lockId"},
      {R"({"$unset": {"expiresAt": 1}})", "expiresAt"},
      {R"({"$set": {"expiresAt": {"$numberLong": "5"}}})", "expiresAt"},
      {R"({"$set": {"acquiredAt": null}})", "acquiredAt"},
      {R"({"$set": {"fencingToken": 1.5}})", "fencingToken"},
      {R"({"$set": {"fencingToken": {"$numberLong": "-1"}}})", "fencingToken"},
      {R"({"$set": {"fencingToken": {"$numberInt": "1"}}})", "fencingToken"},
      {R"({"$set": {"fencingToken": {"$numberLong": "9223372036854775806"}}})", "fencingToken"},
      {R"({"$set": {"fencingToken": {"$numberLong": "9223372036854775807"}}})", "fencingToken"}},
     {R"({"$set": {"lockId": "000000000000000000000000000000ff"}})",
      R"({"$set": {"acquiredAt": {"$date": {"$numberLong": "7"}}}})",
      R"({"$set": {"expiresAt": {"$date": {"$numberLong": "7"}}}})",
      R"({"$inc": {"fencingToken": {"$numberLong": "1"}}})"},
     R"({"acquiredAt": {"$date": "2024-01-01T00:00:00Z"},
         "expiresAt": {"$date": "2200-01-01T00:00:00Z"}, "fencingToken": {"$numberLong": "1"}})",
     &Hex,
     true},
    {"pessimisticlock",
     {{R"({"$set": {"lockVersion": 1}})", "lockVersion"},
      {R"({"$set": {"ownerId": null}})", "ownerId"},
      {R"({"$set": {"ownerId": "a name"}})", "ownerId"},
      {R"({"$set": {"ownerId": "00000000-0000-0000-0000-000000000000"}})", "ownerId"},
      {R"({"$set": {"ownerId": "000000000000-0000-0000-0000000000ff"}})", "ownerId"},
      {R"({"$set": {"ownerId": "00000000-0000-0000-0000-0000000000FF"}})", "ownerId"},
      {R"({"$set": {"ownerId": "00000000-0000-0000-0000-0000000000ff/"}})", "ownerId"},
      {R"({"$set": {"ownerId": "00000000-0000-0000-0000-0000000000ff/07"}})", "ownerId"},
      {R"({"$set": {"ownerId": "00000000-0000-0000-0000-0000000000ff/-7"}})", "ownerId"},
      {R"({"$set": {"ownerId": "00000000-0000-0000-0000-0000000000ff/9223372036854775807"}})",
       "ownerId"},
      {R"({"$unset": {"expiresAt": 1}})", "expiresAt"},
      {R"({"$set": {"expiresAt": {"$numberInt": "5"}}})", "expiresAt"},
      {R"({"$set": {"expiresAt": {"$date": {"$numberLong": "5"}}}})", "expiresAt"},
      {R"({"$set": {"ttlMs": null}})", "ttlMs"},
      {R"({"$set": {"ttlMs": {"$numberLong": "-1"}}})", "ttlMs"}},
     {R"({"$set": {"ownerId": "00000000-0000-0000-0000-0000000000ff"}})",
      R"({"$set": {"ttlMs": {"$numberLong": "7"}}})",
      R"({"$set": {"expiresAt": {"$numberLong": "7"}}})"},
     R"({"ttlMs": {"$numberLong": "3500"}, "expiresAt": {"$numberLong": "7258118400000"}})",
     &WithFence,
     false},
    {"mongolocks-30",
     {{R"({"$set": {"lockVersion": 1}})", "lockVersion"},
      {R"({"$set": {"LockId": "a text"}})", "LockId"},
      {R"({"$set": {"LockId": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}})",
       "LockId"},
      {R"({"$set": {"LockId": {"$binary": {"base64": "AQIDBAUGBwgJCgsMDQ4PEA==", "subType": "03"}}}})",
       "LockId"},
      {R"({"$set": {"LockTime": {"$numberLong": "5"}}})", "LockTime"}},
     {R"({"$set": {"LockId": null}})", R"({"$unset": {"LockId": 1}})",
      R"({"$set": {"LockTime": {"$date": {"$numberLong": "7"}}}})"},
     R"({"Value": "0", "LockTime": {"$date": "2200-01-01T00:00:00Z"}})",
     &Binary,
     false,
     "update",
     false}};

class Layouts : public LayoutTest, public ::testing::WithParamInterface<Case> {
 protected:
  Layouts() : LayoutTest(GetParam().layout) {}
  /// Why the collection is not opened; empty: it is.
  std::string Refusal(const std::string& layout) {
    try {
      static_cast<void>(OpenMongodbStore(database_.uri(), Naming(layout))->Open("locks", {}, kTtl));
      return {};
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kRefused);
      return error.what();
    }
  }
  /// The same of an open one, as doctor tells it.
  static std::string Problem(Store& store) {
    for (const Finding& one : store.Examine(store.Find("locks").get(), 10s)) {
      const bool is_problem = one.check == "collection" && one.level == FindingLevel::kProblem;
      if (is_problem) return "doclock: MongoDB: " + one.text + "; " + one.advice;
    }
    return {};
  }
  void ExpectFence(std::int64_t fence) { EXPECT_EQ(Fence(), GetParam().stores_fence ? fence : 0); }
  [[nodiscard]] bool has_bodies() const { return HasDocuments(layout_); }
  /// What a lock of theirs tells.
  static std::int64_t Token(std::int64_t token) { return GetParam().has_token ? token : 0; }
};

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  return info.param.layout.substr(0, info.param.layout.find('-'));
}

TEST_P(Layouts, AGrantIsADocumentOfTheirs) {
  const AcquireOp held = Take();
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_FALSE(held.result.took_over);
  const auto document = Document();
  ASSERT_TRUE(document);
  EXPECT_NO_THROW(peer_->ReadStrictly(*document));
  ExpectFence(held.result.version);
  EXPECT_FALSE(peer_->TryAcquire(job_, kTtl));
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id, 2 * kTtl).status, OpStatus::kDone);
  EXPECT_NO_THROW(peer_->ReadStrictly(*Document()));
}

TEST_P(Layouts, AReleaseLeavesItFree) {
  const AcquireOp held = Take();
  const WriteOp released = locks_.Release(key_, held);
  EXPECT_EQ(released.status, OpStatus::kDone) << Why(released);
  EXPECT_TRUE(IsFree());
  const auto theirs = peer_->TryAcquire(job_, kTtl);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(theirs->token, Token(1));
}

/// When what the library has for itself may be destroyed already.
TEST_P(Layouts, IsReleasedWhileTheProcessEnds) {
  const std::string uri = database_.uri();
  const char sign = uri.find('?') == uri.npos ? '?' : '&';
  test::Child child({"leave", uri + sign + "doclockLayout=locks:" + layout_, job_});
  EXPECT_EQ(child.Rest(), std::vector<std::string>{"held"});
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_TRUE(IsFree());
}

TEST_P(Layouts, TheirLockIsBusyUntilItIsReleased) {
  const auto theirs = peer_->TryAcquire(job_, kTtl);
  ASSERT_TRUE(theirs);
  const std::string before = Stored();
  const AcquireOp busy = Take();
  ASSERT_EQ(busy.status, OpStatus::kBusy) << Why(busy);
  ASSERT_TRUE(busy.detail->remaining);
  EXPECT_LE(*busy.detail->remaining, kTtl + kMostMargin);
  EXPECT_GT(*busy.detail->remaining, kTtl / 2);
  EXPECT_EQ(Stored(), before);
  peer_->Release(job_, *theirs);
  EXPECT_EQ(Take().status, OpStatus::kDone);
}

TEST_P(Layouts, AnExpiredLockIsTakenOver) {
  const auto theirs = peer_->TryAcquire(job_, kTtl);
  ASSERT_TRUE(theirs);
  Expire();
  const AcquireOp taken = Take();
  ASSERT_EQ(taken.status, OpStatus::kDone) << Why(taken);
  EXPECT_TRUE(taken.result.took_over);
  EXPECT_FALSE(peer_->Renew(job_, *theirs, kTtl));
  ExpectFence(taken.result.version);
}

TEST_P(Layouts, ALockThatTheyTookOverIsLost) {
  const AcquireOp held = Take();
  Expire();
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id).status, OpStatus::kLost)
      << "never revived";
  const auto theirs = peer_->TryAcquire(job_, kTtl);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(theirs->token, Token(held.result.version + 1));
  const std::string before = Stored();
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(locks_.Release(key_, held).status, OpStatus::kLost);
  EXPECT_EQ(Stored(), before);
}

/// Their TTL index deletes expired documents at any time.
TEST_P(Layouts, ADeletedDocumentIsNoHolderAnyMore) {
  const AcquireOp held = Take();
  Delete();
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id).status, OpStatus::kMissing);
  EXPECT_EQ(locks_.Release(key_, held).status, OpStatus::kMissing);
  peer_->MakeDocument(job_);
  EXPECT_EQ(Take().status, OpStatus::kDone);
}

TEST_P(Layouts, ARenewalNeverShortens) {
  const AcquireOp held = Take(NewUuid(), 10 * kTtl);
  const std::string before = Stored();
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id, kTtl).status, OpStatus::kDone);
  EXPECT_EQ(Stored(), before);
}

/// Their documents tell no length of a lease, so there is none to begin anew.
TEST_P(Layouts, ARenewalOfTheirsWithoutALengthChangesNothing) {
  const LockManager manager(OpenMongodbStore(database_.uri(), options_));
  const LockAdmin admin = LockProvider(manager, "locks").Admin();
  ASSERT_TRUE(peer_->TryAcquire(job_, kTtl));
  LockFields theirs;
  theirs.id = locks_.Read(key_).result.lock_id;
  const std::string before = Stored();
  EXPECT_LE(admin.Renew(job_, theirs).remaining, kTtl + kMostMargin);
  EXPECT_EQ(Stored(), before);
  Expire();
  try {
    admin.Renew(job_, theirs);
    ADD_FAILURE() << "it is over";
  } catch (const LockException& error) {
    EXPECT_EQ(error.code(), Errc::kNotOwner);
  }
}

TEST_P(Layouts, AHandOverIsAGrantAtTheNextToken) {
  const AcquireOp held = Take();
  GrantRequest next;
  next.lock_id = NewUuid();
  next.ttl = kTtl;
  const WriteOp given = locks_.Release(key_, held.request.grant.lock_id,
                                       {.expected = held.result.version, .next = &next});
  ASSERT_EQ(given.status, OpStatus::kDone) << Why(given);
  EXPECT_EQ(given.result.version, held.result.version + 1);
  ExpectFence(given.result.version);
  EXPECT_NO_THROW(peer_->ReadStrictly(*Document()));
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(locks_.Renew(key_, next.lock_id).status, OpStatus::kDone);
}

/// Theirs begins at 1 with every document. Ours goes on rising over theirs, and over deletions.
TEST_P(Layouts, FencesRise) {
  std::int64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    const Uuid id = NewUuid();
    const AcquireOp held = Take(id);
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    ASSERT_GT(held.result.version, last) << i;
    last = held.result.version;
    if (i % 3 == 0) {
      Expire();
      const auto theirs = peer_->TryAcquire(job_, kTtl);
      ASSERT_TRUE(theirs);
      EXPECT_EQ(theirs->token, Token(last + 1));
      peer_->Release(job_, *theirs);
    } else if (i % 3 == 1) {
      Expire();
    } else {
      ASSERT_EQ(locks_.Release(key_, id, {.expected = last}).status, OpStatus::kDone);
    }
  }
}

TEST_P(Layouts, AMalformedDocumentIsNamedAndStays) {
  const LockManager manager(OpenMongodbStore(database_.uri(), options_));
  const LockAdmin admin = LockProvider(manager, "locks").Admin();
  const std::string library = mongodb::FindLayout(layout_)->library();
  for (const auto& [change, field] : GetParam().spoilt) {
    ASSERT_TRUE(peer_->TryAcquire(job_, kTtl));
    Expire();
    Change(change);
    const std::string before = Stored();
    const AcquireOp refused = Take();
    EXPECT_EQ(refused.status, OpStatus::kFailed);
    EXPECT_EQ(refused.detail->code, Errc::kMalformed);
    EXPECT_THAT(refused.detail->message, HasSubstr("(" + field + ")")) << change;
    EXPECT_EQ(locks_.Read(key_).status, OpStatus::kFailed);
    try {
      admin.Break(job_, "an operator");
      ADD_FAILURE() << change;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(field + " is not what " + library + " writes"));
    }
    EXPECT_EQ(Stored(), before) << change;
    Reset();
  }
}

/// Each field that was read is named by the write.
TEST_P(Layouts, AChangeBetweenLookAndWriteIsNoticed) {
  for (const std::string& change : GetParam().harmless) {
    ASSERT_TRUE(peer_->TryAcquire(job_, kTtl));
    Expire();
    pool_.Take();
    pool_.BeforeNext("update", [&] { Change(change); });
    const AcquireOp held = Take();
    EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
    EXPECT_EQ(pool_.Take(), "findAndModify 2, update 2") << change;
    Reset();
  }
}

TEST_P(Layouts, AGrantOfTheirsBetweenLookAndWriteStands) {
  std::optional<LockPeer::Held> theirs;
  pool_.BeforeNext("update", [&] { theirs = peer_->TryAcquire(job_, kTtl); });
  EXPECT_EQ(Take().status, OpStatus::kBusy);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(theirs->token, Token(1));
  EXPECT_TRUE(peer_->Renew(job_, *theirs, kTtl));
  // A whole lock of theirs, which leaves nothing.
  peer_->Release(job_, *theirs);
  pool_.Take();
  pool_.BeforeNext("update", [&] {
    theirs = peer_->TryAcquire(job_, kTtl);
    ASSERT_TRUE(theirs);
    peer_->Release(job_, *theirs);
  });
  EXPECT_EQ(Take().status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "findAndModify 2, update 2");
}

TEST_P(Layouts, WhatItCannotPromiseIsRefusedBeforeAnythingIsSent) {
  const AcquireOp held = Take();
  const Uuid id = held.request.grant.lock_id;
  pool_.Take();
  const auto refused = [](const StoreOp& op) {
    return op.status == OpStatus::kFailed && op.detail->code == Errc::kRefused
               ? op.detail->message
               : "not refused: " + Why(op);
  };
  const auto has_no = [&](const std::string& feature) {
    const std::string name = layout_.substr(0, layout_.find('-'));
    return HasSubstr("locks has the layout " + name + ", which has no " + feature);
  };
  EXPECT_THAT(refused(locks_.Share(key_, NewUuid(), 2, kNone)), has_no("shared locks"));
  EXPECT_THAT(refused(locks_.RenewShare(key_, id)), has_no("shared locks"));
  EXPECT_THAT(refused(locks_.ReleaseShare(key_, id)), has_no("shared locks"));
  EXPECT_THAT(refused(locks_.Acquire(key_, {.id = NewUuid(), .insert = kNone, .min_hold = 5s})),
              has_no("min_hold"));
  EXPECT_THAT(refused(locks_.Acquire(key_, NewUuid(), Counted(1))),
              has_no(has_bodies() ? "new documents" : "bodies"));
  AcquireOp grouped = locks_.AcquireOf(key_, {.insert = kNone, .group = "g"});
  locks_.Execute(grouped);
  EXPECT_THAT(refused(grouped), has_no("groups"));
  const Key number(5);
  EXPECT_THAT(refused(locks_.Acquire(number, NewUuid(), kNone)),
              has_no(has_bodies() ? "keys but UUIDs" : "keys but text"));
  if (!has_bodies()) {
    EXPECT_THAT(refused(locks_.Acquire(key_, NewUuid())), has_no("bodies"));
    EXPECT_THAT(
        refused(locks_.Write(key_, WriteKind::kCheckpoint, id, {.expected = held.result.version})),
        has_no("bodies"));
    EXPECT_THAT(
        refused(locks_.Release(key_, id, {.expected = held.result.version, .body = Counted(1)})),
        has_no("bodies"));
  }
  EXPECT_THAT(refused(locks_.Write(key_, WriteKind::kErase, id, {.expected = held.result.version})),
              has_no("erasures"));
  EXPECT_THAT(refused(locks_.Save(SaveKind::kInsert, key_, 0, {}, Counted(1))),
              has_no(has_bodies() ? "writes without the lock" : "bodies"));
  Store& store = locks_.store();
  const auto thrown = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const StoreException& error) {
      return error.errc() == Errc::kRefused ? error.what() : "another code";
    }
    return "nothing";
  };
  EXPECT_THAT(thrown([&] {
                store.Query(
                    locks_.collection(), Filter(), [](QueryRow&&) { return true; }, 10s);
              }),
              has_no("searches"));
  IndexSpec index;
  index.fields = {"n"};
  EXPECT_THAT(thrown([&] { store.EnsureIndex(locks_.collection(), index); }),
              has_no("indexes over bodies"));
  WriteOp release = locks_.ReleaseOf(key_, id);
  StoreOp* const one[] = {&release};
  CommitOp commit;
  commit.ops = one;
  store.Commit(commit, 10s);
  EXPECT_THAT(refused(release), has_no("transactions"));
  EXPECT_EQ(pool_.Take(), "");
}

TEST_P(Layouts, TakesFewCommands) {
  pool_.Take();
  const AcquireOp held = Take();
  EXPECT_EQ(pool_.Take(), "findAndModify 1, update 1");
  EXPECT_EQ(Take().status, OpStatus::kBusy);
  EXPECT_EQ(pool_.Take(), "findAndModify 1");
  locks_.Renew(key_, held.request.grant.lock_id);
  EXPECT_EQ(pool_.Take(), "update 1");
  locks_.Release(key_, held);
  EXPECT_EQ(pool_.Take(), GetParam().release + std::string(" 1"));
}

TEST_P(Layouts, RenewsAThousandByOneCommand) {
  std::deque<Key> keys;
  std::deque<RenewOp> renewals;
  std::vector<StoreOp*> ops;
  mongodb::Array documents;
  for (int i = 0; i < 1000; ++i) {
    const Uuid id = NewUuid();
    keys.push_back(has_bodies() ? Key(NewUuid()) : Key("job" + std::to_string(i)));
    Doc document = FromJson(GetParam().live);
    document.Add("_id", keys.back());
    bson_concat(document.get(), GetParam().holder(id).get());
    documents.Add(document);
    ops.push_back(&renewals.emplace_back(locks_.RenewOf(keys.back(), id, kTtl)));
  }
  database_.Insert("locks", documents);
  pool_.Take();
  locks_.store().Execute(ops, 10s);
  for (const RenewOp& op : renewals) ASSERT_EQ(op.status, OpStatus::kDone) << Why(op);
  EXPECT_EQ(pool_.Take(), "update 1");
  renewals[500].request.lock_id = NewUuid();
  locks_.store().Execute(ops, 10s);
  EXPECT_EQ(pool_.Take(), "find 1, update 2");
  for (const RenewOp& op : renewals) {
    ASSERT_EQ(op.status, &op == &renewals[500] ? OpStatus::kLost : OpStatus::kDone) << Why(op);
  }
}

TEST_P(Layouts, IsShownBrokenAndPurged) {
  const LockManager manager(OpenMongodbStore(database_.uri(), options_));
  const LockProvider provider(manager, "locks");
  const LockAdmin admin = provider.Admin();
  ASSERT_TRUE(peer_->TryAcquire(job_, kTtl));
  const auto locks = admin.Status();
  ASSERT_EQ(locks.size(), 1U);
  EXPECT_EQ(locks[0].name, job_);
  EXPECT_EQ(locks[0].fence.value_or(0), Token(1));
  EXPECT_FALSE(locks[0].expired);
  EXPECT_TRUE(locks[0].holder.name.empty());
  EXPECT_LE(locks[0].remaining, kTtl + kMostMargin);
  admin.Break(job_, "an operator");
  EXPECT_TRUE(IsFree());
  ASSERT_TRUE(peer_->TryAcquire(job_, kTtl));
  EXPECT_EQ(admin.Purge().expired, 0);
  Expire();
  EXPECT_TRUE(admin.Status().at(0).expired);
  EXPECT_EQ(admin.Purge().expired, 1);
  EXPECT_TRUE(IsFree());
  // Their index, as they make it: theirs finds it there. MongoLocks has none.
  if (has_bodies()) {
    EXPECT_THROW(provider.EnsureIndexes(), StoreException);
  } else {
    provider.EnsureIndexes();
  }
  EXPECT_NO_THROW(peer_->MakeIndexes());
}

/// What is found when it is opened is found where it is open already.
TEST_P(Layouts, IsNotOpenedForAnotherLibrary) {
  const std::map<std::string, std::string> libraries = {
      {"distributedlock", "DistributedLock.MongoDB"},
      {"mongolock", "square/mongo-lock"},
      {"pessimisticlock", "com.mongodb.pessimistic"},
      {"mongolocks", "MongoLocks"},
      {"", ""}};
  const std::string ours = layout_.substr(0, layout_.find('-'));
  std::map<std::string, std::shared_ptr<Store>> stores;
  database_.Run(FromJson(R"({"delete": "locks", "deletes": [{"q": {}, "limit": 0}]})"));
  for (const auto& [layout, library] : libraries) {
    stores[layout] = OpenMongodbStore(database_.uri(), Naming(layout));
    static_cast<void>(stores[layout]->Open("locks", {}, kTtl));
  }
  peer_->MakeDocument(job_);
  ASSERT_TRUE(peer_->TryAcquire(job_, kTtl));
  for (const auto& [layout, store] : stores) {
    const std::string refusal = Refusal(layout);
    EXPECT_EQ(Problem(*store), refusal) << layout;
    if (layout == ours) {
      EXPECT_EQ(refusal, "");
      continue;
    }
    EXPECT_THAT(refusal, HasSubstr("holds locks of " + libraries.at(ours)));
    if (!layout.empty()) {
      EXPECT_THAT(refusal, HasSubstr("the layout of " + libraries.at(layout)));
    }
  }
}

TEST_P(Layouts, IsNotOpenedWithDocumentsOfDoclocksOwnLayout) {
  ASSERT_TRUE(peer_->TryAcquire(job_, kTtl));
  Change(R"({"$set": {"lockVersion": {"$numberLong": "1"}, "lockBorn": {"$numberLong": "1"},
                      "resource": 1, "exclusive": 1, "shared": 1}})");
  const std::string refusal = Refusal(layout_);
  EXPECT_THAT(refusal, HasSubstr("holds locks of doclock without a layout, and was given the "
                                 "layout of " +
                                 std::string(mongodb::FindLayout(layout_)->library())));
  EXPECT_EQ(Problem(locks_.store()), refusal);
}

TEST_P(Layouts, IsNotOpenedWithSagaStatesOfOpenSleigh) {
  ASSERT_TRUE(peer_->TryAcquire(job_, kTtl));
  Change(R"({"$set": {"CorrelationId": 1, "Type": 1, "Data": 1, "LockId": 1, "LockTime": 1}})");
  const std::string refusal = Refusal(layout_);
  EXPECT_THAT(refusal, HasSubstr("holds locks of OpenSleigh, and was given the layout of " +
                                 std::string(mongodb::FindLayout(layout_)->library())));
  EXPECT_EQ(Problem(locks_.store()), refusal);
}

/// A named lock from beginning to end, with waiters of this process.
TEST_P(Layouts, WaitersOfAProcessHandItOver) {
  const LockManager manager(OpenMongodbStore(database_.uri(), options_));
  const LockProvider provider(manager, "locks");
  std::optional<HeldLock> first = provider.Acquire(job_);
  const std::int64_t fence = first->fence();
  std::jthread second([&] {
    HeldLock lock = provider.Acquire(job_, {.wait = kForever});
    EXPECT_GT(lock.fence(), fence);
    lock.Renew();
    lock.Release();
  });
  first->Release();
  second.join();
  EXPECT_TRUE(IsFree());
  EXPECT_THROW((void)provider.Acquire(job_, {.min_hold = 1s}), StoreException);
}

class LayoutFaults : public Layouts {
 protected:
  /// The command is done, and its answer lost.
  FailPoint Lose(const char* command) {
    return {database_,
            {.name = "no majority in time", .concern_code = 64},
            {.collection = "locks", .times = 1, .commands = {command}}};
  }
  const LockManager manager_{OpenMongodbStore(pool_.get(), database_.name(), options_)};
  const LockProvider provider_{manager_, "locks"};
};

TEST_P(LayoutFaults, AGrantInDoubtIsFoundOut) {
  const FailPoint lost = Lose("update");
  HeldLock lock = provider_.Acquire(job_);
  ExpectFence(lock.fence());
  lock.Release();
  EXPECT_TRUE(IsFree());
}

TEST_P(LayoutFaults, ALookWithoutAnAnswerIsAnOutageAndNoDoubt) {
  const FailPoint lost = Lose("findAndModify");
  const AcquireOp op = Take();
  EXPECT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
}

TEST_P(LayoutFaults, AReleaseInDoubtIsFoundOut) {
  HeldLock lock = provider_.Acquire(job_);
  const FailPoint lost = Lose(GetParam().release);
  EXPECT_NO_THROW(lock.Release());
  EXPECT_TRUE(IsFree());
}

/// No trace is left of either: the same is sent again, and finds nothing. Where the document stays,
/// a lock that another holder has released looks the same.
TEST_P(LayoutFaults, ABreakInDoubtIsFoundOutWhereTheDocumentGoes) {
  ASSERT_TRUE(peer_->TryAcquire(job_, 60s));
  const FailPoint lost = Lose(GetParam().release);
  const auto breaks = [&] { provider_.Admin().Break(job_); };
  if (has_bodies()) {
    EXPECT_THROW(breaks(), InDoubtException);
  } else {
    EXPECT_NO_THROW(breaks());
  }
  EXPECT_TRUE(IsFree());
}

TEST_P(LayoutFaults, ARenewalInDoubtLeavesTheLockHeld) {
  HeldLock lock = provider_.Acquire(job_);
  const FailPoint lost = Lose("update");
  try {
    lock.Renew();
  } catch (const InDoubtException&) {
    // Not known; the keeper goes on.
  }
  EXPECT_TRUE(lock.held());
  lock.Release();
}

TEST_P(LayoutFaults, AHandOverInDoubtIsFoundOut) {
  const auto store = OpenMongodbStore(pool_.get(), database_.name(), options_);
  EXPECT_GT(HandOversInDoubt(store, pool_, job_, [&] { return Lose("update"); }), 0);
  EXPECT_TRUE(IsFree());
}

INSTANTIATE_TEST_SUITE_P(All, Layouts, ::testing::ValuesIn(kCases), &NameOf);
INSTANTIATE_TEST_SUITE_P(All, LayoutFaults, ::testing::ValuesIn(kCases), &NameOf);

class LayoutOptions : public LayoutTest, public ::testing::WithParamInterface<std::string> {
 protected:
  LayoutOptions() : LayoutTest(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(All, LayoutOptions, ::testing::ValuesIn(kLayouts),
                         [](const auto& one) { return one.param; });

TEST_P(LayoutOptions, AreInTheUrlToo) {
  ASSERT_TRUE(peer_->TryAcquire(job_, kTtl));
  const std::string uri = database_.uri();
  const std::string sign = uri.find('?') == uri.npos ? "?" : "&";
  const LockManager manager(OpenStore(uri + sign + "doclockLayout=locks:" + layout_));
  EXPECT_FALSE(LockProvider(manager, "locks").TryAcquire(job_));
  EXPECT_THROW(LockProvider(LockManager(OpenStore(uri)), "locks"), StoreException)
      << "without the layout";
  for (const std::string& bad :
       {std::string("doclockLayout="), std::string("doclockLayout=locks"),
        std::string("doclockLayout=locks:other"),
        "doclockLayout=locks:" + layout_ + "&doclockLayout=locks:" + layout_,
        "doclockLayout=.:" + layout_}) {
    EXPECT_THROW(OpenStore(uri + sign + bad), std::invalid_argument) << bad;
  }
  EXPECT_THROW(OpenMongodbStore(uri, Naming("other")), std::invalid_argument);
}

TEST_P(LayoutOptions, ExcludeNamesOfFieldsAndALoneServer) {
  const auto store = OpenMongodbStore(database_.uri(), options_);
  LockFieldNames names;
  names.id = "other";
  EXPECT_THROW(store->Open("locks", names, kTtl), std::invalid_argument);
  EXPECT_NO_THROW(store->Open("things", names, kTtl));
  Database lone(StandaloneUri());
  const auto alone = OpenMongodbStore(lone.uri(), options_);
  EXPECT_THROW(alone->Open("locks", {}, kTtl), StoreException);
}

}  // namespace
}  // namespace doclock::mongo_test
