// Collections of square/mongo-lock (Go): what doclock reads and writes there, beside the real
// library where Go is, and beside a re-creation of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <locale>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "doclock/lock_admin.h"
#include "doclock/lock_provider.h"
#include "doclock/open_store.h"
#include "mongodb/layouts/layout_fixture.h"
#include "mongodb/layouts/real_mongo_lock.h"
#include "mongodb/support/client.h"
#include "mongodb/support/fail_point.h"
#include "mongodb/support/monitored_pool.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Doc;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr std::chrono::milliseconds kLease = 30s;
constexpr std::int64_t kMarginMs = 1000;

MongodbStoreOptions WithMongoLock() {
  MongodbStoreOptions options;
  options.layouts["locks"] = "mongolock";
  return options;
}

/// The parameter: "real" or "recreated".
class MongoLock : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "recreated") {
      peer_ = std::make_unique<RecreatedMongoLock>(SetUri(), database_.name());
    } else if (RealMongoLock::Program().empty()) {
      GTEST_SKIP() << RealMongoLock::kMissing;
    } else {
      peer_ = std::make_unique<RealMongoLock>(SetUri(), database_.name());
    }
  }

  AcquireOp Take(const Uuid& id = NewUuid(), std::chrono::milliseconds ttl = kLease) {
    return locks_.Acquire(key_, {.id = id, .insert = kNone, .ttl = ttl});
  }
  AcquireOp Share(int max_holders = kMaxHolders, const Uuid& id = NewUuid()) {
    return locks_.Share(key_, id, max_holders, kNone);
  }
  WriteOp Release(const AcquireOp& held) { return locks_.Release(key_, held); }
  /// The one document; null if there is none.
  Json Document(const std::string& name = "job") {
    Json found;
    Doc find = Doc::Of("find", "locks");
    find.Add("filter", Doc::Of("resource", name));
    database_.Run(find, [&](const bson_t& reply) {
      const Json all = Json::parse(mongo_docs_test::Canonical(reply));
      const Json& batch = all["cursor"]["firstBatch"];
      if (!batch.empty()) found = batch[0];
    });
    if (!found.is_null()) found.erase("_id");
    return found;
  }
  void Change(const std::string& update) {
    const auto command = mongo_docs_test::Parse(
        R"({"update": "locks", "updates": [{"q": {"resource": "job"}, "u": )" + update + "}]}");
    Doc doc;
    bson_concat(doc.get(), command.get());
    database_.Run(doc);
  }
  /// All its locks say that they end so long after now.
  void EndIn(std::int64_t ms) {
    const std::string end = R"({"$add": ["$$NOW", )" + std::to_string(ms) + "]}";
    Change(R"([{"$set": {
      "exclusive.expiresAt": {"$cond": [{"$eq": ["$exclusive.acquired", true]}, )" +
           end + R"(, "$exclusive.expiresAt"]},
      "shared.locks": {"$map": {"input": "$shared.locks",
        "in": {"$mergeObjects": ["$$this", {"expiresAt": )" +
           end + "}]}}}}}]");
  }
  std::string Refusal() {
    try {
      const Client opened(OpenMongodbStore(database_.uri(), WithMongoLock()), "locks");
    } catch (const StoreException& error) {
      return error.errc() == Errc::kRefused ? error.what() : "another code";
    }
    return "opened";
  }
  static std::int64_t TimeAt(const Json& lock, const char* field) {
    return std::stoll(lock.at(field).at("$date").at("$numberLong").get<std::string>());
  }

  Database database_{SetUri()};
  MonitoredPool pool_{WithSocketTimeout(SetUri()), database_.name()};
  Client locks_{OpenMongodbStore(pool_.get(), database_.name(), WithMongoLock()), "locks"};
  std::unique_ptr<MongoLockPeer> peer_;
  const Key key_{"job"};
};

class MongoLockFaults : public MongoLock {};

const auto kPeers = ::testing::Values("real", "recreated");
const auto kNameOf = [](const auto& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(All, MongoLock, kPeers, kNameOf);
INSTANTIATE_TEST_SUITE_P(All, MongoLockFaults, kPeers, kNameOf);

TEST_P(MongoLock, AGrantIsALockOfTheirs) {
  AcquireOp op = locks_.AcquireOf(key_, {.ttl = kLease});
  op.request.grant.owner = std::make_shared<const LockHolder>(LockHolder{"$owner", "$host", 5});
  op.request.insert = kNone;
  locks_.Execute(op);
  ASSERT_EQ(op.status, OpStatus::kDone) << Why(op);
  const Json doc = Document();
  EXPECT_NO_THROW(RecreatedMongoLock::ReadStrictly(doc));
  const Json& lock = doc["exclusive"];
  EXPECT_EQ(TimeAt(lock, "expiresAt") - TimeAt(lock, "createdAt"), kLease.count() + kMarginMs);
  EXPECT_EQ(lock["comment"], "doclock, process 5, fence " + std::to_string(op.result.version));
  EXPECT_THAT(peer_->Status("job"),
              MatchesRegex("done 1 exclusive/[-0-9a-f]{36}/[$]owner/[$]host"));
  EXPECT_EQ(peer_->XLock("job", "theirs"), "locked");
  EXPECT_EQ(peer_->SLock("job", "theirs"), "locked");
  // The same fields as theirs, of the same types.
  ASSERT_EQ(peer_->XLock("other", "theirs"), "done 0");
  const Json other = Document("other");
  const auto shape = [](const Json& json) {
    std::string text;
    for (const auto& [name, value] : json.items()) {
      text += name + ":" + (value.is_object() ? value.begin().key() : value.type_name()) + " ";
    }
    return text;
  };
  for (const char* const part : {"exclusive", "shared"}) {
    Json ours = doc[part], theirs = other[part];
    for (const char* const free : {"owner", "host", "comment"})
      ours.erase(free), theirs.erase(free);
    EXPECT_EQ(shape(ours), shape(theirs));
  }
}

TEST_P(MongoLock, AReleaseLeavesWhatTheirsLeaves) {
  const AcquireOp held = Take();
  EXPECT_EQ(Release(held).status, OpStatus::kDone);
  ASSERT_EQ(peer_->XLock("other", "theirs"), "done 0");
  EXPECT_THAT(peer_->Unlock("theirs"), StartsWith("done 1 exclusive/theirs/gopher"));
  Json other = Document("other");
  other["resource"] = "job";
  EXPECT_EQ(Document(), other);
  EXPECT_EQ(peer_->XLock("job", "theirs"), "done 0");
}

TEST_P(MongoLock, TheirLockIsBusyUntilItIsReleased) {
  for (const unsigned ttl : {30U, 0U}) {
    ASSERT_EQ(peer_->XLock("job", "theirs", ttl), "done 0");
    const Json before = Document();
    const AcquireOp busy = Take();
    ASSERT_EQ(busy.status, OpStatus::kBusy) << Why(busy);
    EXPECT_EQ(busy.detail->holder.name, "gopher");
    EXPECT_GT(*busy.detail->remaining, ttl == 0 ? 1000h : kLease / 2);
    EXPECT_LE(*busy.detail->remaining, ttl == 0 ? 10'000'000h : kLease + 1s);
    EXPECT_EQ(Share().status, OpStatus::kBusy);
    EXPECT_EQ(Document(), before);
    EXPECT_THAT(peer_->Unlock("theirs"), StartsWith("done 1"));
    const AcquireOp held = Take();
    EXPECT_EQ(held.status, OpStatus::kDone);
    EXPECT_FALSE(held.result.took_over);
    EXPECT_EQ(Release(held).status, OpStatus::kDone);
  }
}

TEST_P(MongoLock, SharesOfBothCountTogether) {
  ASSERT_EQ(peer_->SLock("job", "a", 3), "done 0");
  const AcquireOp first = Share(3), second = Share(3);
  ASSERT_EQ(first.status, OpStatus::kDone) << Why(first);
  ASSERT_EQ(second.status, OpStatus::kDone) << Why(second);
  EXPECT_EQ(Share(3).status, OpStatus::kBusy);
  EXPECT_EQ(peer_->SLock("job", "b", 3), "locked");
  EXPECT_EQ(peer_->XLock("job", "c"), "locked");
  EXPECT_EQ(Take().status, OpStatus::kBusy);
  EXPECT_NO_THROW(RecreatedMongoLock::ReadStrictly(Document()));
  EXPECT_THAT(peer_->Status("job"), StartsWith("done 3 shared/a//"));
  EXPECT_EQ(locks_.RenewShare(key_, first.request.grant.lock_id, 2 * kLease).status,
            OpStatus::kDone);
  EXPECT_THAT(peer_->Renew("a"), StartsWith("done 1"));
  EXPECT_EQ(locks_.ReleaseShare(key_, first.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(locks_.ReleaseShare(key_, first.request.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(peer_->SLock("job", "b", 3), "done 0");
  for (const char* const id : {"a", "b"}) EXPECT_THAT(peer_->Unlock(id), StartsWith("done 1"));
  EXPECT_EQ(locks_.ReleaseShare(key_, second.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(Document()["shared"]["count"]["$numberLong"], "0");
  EXPECT_EQ(peer_->XLock("job", "c"), "done 0");
}

/// A clock of theirs may be behind: their lock counts as over a margin later than it says so.
TEST_P(MongoLock, TheirExpiredLocksAreTakenOverAfterTheMargin) {
  ASSERT_EQ(peer_->XLock("job", "theirs"), "done 0");
  EndIn(-kMarginMs / 2);
  EXPECT_EQ(Take().status, OpStatus::kBusy);
  EndIn(-kMarginMs);
  const AcquireOp held = Take();
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_TRUE(held.result.took_over);
  EXPECT_EQ(peer_->Renew("theirs"), "none");
  EXPECT_EQ(peer_->Unlock("theirs"), "done 0");
  ASSERT_EQ(Release(held).status, OpStatus::kDone);
  // Shares too, without a purge.
  ASSERT_EQ(peer_->SLock("job", "a"), "done 0");
  ASSERT_EQ(peer_->SLock("job", "b"), "done 0");
  EndIn(-kMarginMs / 2);
  EXPECT_EQ(Take().status, OpStatus::kBusy);
  EXPECT_EQ(Share(2).status, OpStatus::kBusy);
  EndIn(-kMarginMs);
  EXPECT_EQ(Share(1).status, OpStatus::kDone);
  EXPECT_EQ(Document()["shared"]["count"]["$numberLong"], "1");
  EndIn(-kMarginMs);
  EXPECT_EQ(Take().status, OpStatus::kDone);
  EXPECT_EQ(peer_->SLock("job", "c"), "locked");
}

/// One that is ahead sees ours as over within the margin that it is stored longer.
TEST_P(MongoLock, OursEndsForThemWhenItsLeaseIsOverAtTheEarliest) {
  const AcquireOp held = Take(NewUuid(), 60s);
  RecreatedMongoLock within(SetUri(), database_.name(), 60s);
  EXPECT_EQ(within.XLock("job", "theirs"), "locked");
  RecreatedMongoLock beyond(SetUri(), database_.name(), 62s);
  EXPECT_EQ(beyond.XLock("job", "theirs"), "done 0");
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id).status, OpStatus::kLost);
}

TEST_P(MongoLock, ARenewalNeitherRevivesNorShortens) {
  const AcquireOp held = Take(NewUuid(), 10 * kLease);
  const auto end = [&] { return TimeAt(Document()["exclusive"], "expiresAt"); };
  const std::int64_t before = end();
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(end(), before);
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id, 20 * kLease).status, OpStatus::kDone);
  EXPECT_GT(end(), before);
  EXPECT_NO_THROW(RecreatedMongoLock::ReadStrictly(Document()));
  EndIn(kMarginMs);
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(peer_->Purge(), "done 0") << "to theirs it is not over yet";
  EndIn(-1);
  EXPECT_THAT(peer_->Purge(), StartsWith("done 1 exclusive/"));
  EXPECT_EQ(Release(held).status, OpStatus::kLost);
}

/// With a program's own separator of thousands the fence is found in the comment all the same.
TEST_P(MongoLock, TheLocaleDoesNotMatter) {
  struct Grouped : std::numpunct<char> {
    [[nodiscard]] char do_thousands_sep() const override { return ','; }
    [[nodiscard]] std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouped));
  const AcquireOp held = Take();
  const ReadOp read = locks_.Read(key_);
  std::locale::global(before);
  EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_EQ(read.result.version, held.result.version);
}

TEST_P(MongoLock, FencesRise) {
  std::int64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    const AcquireOp held = i % 2 == 0 ? Take() : Share();
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    ASSERT_GT(held.result.version, last) << i;
    last = held.result.version;
    if (i % 3 == 0) {
      EndIn(-kMarginMs);
      ASSERT_THAT(peer_->Purge(), StartsWith("done 1"));
      ASSERT_EQ(peer_->XLock("job", "theirs"), "done 0");
      ASSERT_THAT(peer_->Unlock("theirs"), StartsWith("done 1"));
    } else if (i % 2 == 1) {
      ASSERT_EQ(locks_.ReleaseShare(key_, held.request.grant.lock_id).status, OpStatus::kDone);
    } else if (i % 3 == 1) {
      EndIn(0);
    } else {
      ASSERT_EQ(Release(held).status, OpStatus::kDone);
    }
  }
}

/// Nothing of another's grant is left, but that it was there.
TEST_P(MongoLock, AGrantBetweenLookAndWriteIsNoticedThoughItIsReleased) {
  Client other(OpenMongodbStore(database_.uri(), WithMongoLock()), "locks");
  for (const bool shared : {false, true}) {
    std::int64_t between = 0;
    pool_.Take();
    pool_.BeforeNext("update", [&] {
      const AcquireOp held =
          shared ? other.Share(key_, NewUuid(), 9, kNone) : other.Acquire(key_, NewUuid(), kNone);
      between = held.result.version;
      if (shared) other.ReleaseShare(key_, held.request.grant.lock_id);
      if (!shared) other.Release(key_, held);
    });
    const AcquireOp held = Take();
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    EXPECT_GT(held.result.version, between);
    EXPECT_EQ(pool_.Take(), "findAndModify 2, update 2");
    ASSERT_EQ(Release(held).status, OpStatus::kDone);
  }
  pool_.BeforeNext("update", [&] { EXPECT_EQ(peer_->XLock("job", "theirs"), "done 0"); });
  EXPECT_EQ(Take().status, OpStatus::kBusy);
  EXPECT_THAT(peer_->Renew("theirs"), StartsWith("done 1"));
  EXPECT_THAT(peer_->Unlock("theirs"), StartsWith("done 1"));
  pool_.BeforeNext("update", [&] { EXPECT_EQ(peer_->SLock("job", "theirs"), "done 0"); });
  EXPECT_EQ(Take().status, OpStatus::kBusy);
}

TEST_P(MongoLock, TakesTheFewestCommands) {
  const Uuid id = NewUuid();
  pool_.Take();
  const AcquireOp held = Take(id);
  EXPECT_EQ(pool_.Take(), "findAndModify 1, update 1");
  locks_.Renew(key_, id);
  EXPECT_EQ(pool_.Take(), "update 1");
  EXPECT_EQ(Release(held).status, OpStatus::kDone);
  EXPECT_EQ(pool_.Take(), "update 1");
  // Renewals of several documents, and of several shares of one, go together; a look tells of
  // which one is lost.
  const Key other("other");
  const AcquireOp first = Share(), second = Share(), third = locks_.Acquire(other, id, kNone);
  std::vector<RenewOp> renewals;
  for (const AcquireOp* const op : {&first, &second, &third}) {
    renewals.push_back(
        locks_.RenewOf(*op->key, op->request.grant.lock_id, 2 * kLease, op->request.grant.mode));
  }
  const std::vector<StoreOp*> ops = {&renewals[0], &renewals[1], &renewals[2]};
  pool_.Take();
  locks_.Execute(ops);
  for (const RenewOp& op : renewals) EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
  EXPECT_EQ(pool_.Take(), "update 1");
  renewals[1].request.lock_id = NewUuid();
  locks_.Execute(ops);
  for (const RenewOp& op : renewals) {
    EXPECT_EQ(op.status, &op == &renewals[1] ? OpStatus::kLost : OpStatus::kDone) << Why(op);
  }
  EXPECT_NO_THROW(RecreatedMongoLock::ReadStrictly(Document()));
}

/// Their ids are any text, and may end never.
TEST_P(MongoLock, TheirsAreShownRenewedBrokenAndPurged) {
  const LockManager manager(OpenMongodbStore(database_.uri(), WithMongoLock()));
  const LockProvider provider(manager, "locks");
  const LockAdmin admin = provider.Admin();
  for (const std::string id : {"any \"text\" $x", "7d1d3fbe-5d6f-4f0e-9a0b-0d2b9a7e7a11",
                               "7D1D3FBE5D6F4F0E9A0B0D2B9A7E7A11"}) {
    ASSERT_EQ(peer_->XLock("job", id), "done 0");
    const auto locks = admin.Status();
    ASSERT_EQ(locks.size(), 1U);
    EXPECT_EQ(locks[0].name, "job");
    EXPECT_EQ(locks[0].holder.name, "gopher");
    EXPECT_FALSE(locks[0].expired);
    const Uuid shown = locks_.Read(key_).result.lock_id;
    LockFields theirs;
    theirs.id = shown;
    const auto before = Document();
    EXPECT_EQ(admin.Renew("job", theirs).holder.name, "gopher");
    EXPECT_EQ(Document(), before) << "it has no length that could begin anew";
    EXPECT_EQ(locks_.Renew(key_, shown, 60s).status, OpStatus::kDone);
    EXPECT_GT(
        TimeAt(Document()["exclusive"], "expiresAt") - TimeAt(Document()["exclusive"], "createdAt"),
        55'000);
    EXPECT_THAT(peer_->Renew(id, 60), StartsWith("done 1"));
    admin.Break("job", "an operator");
    EXPECT_EQ(peer_->Unlock(id), "done 0");
    ASSERT_EQ(peer_->SLock("job", id), "done 0");
    ASSERT_EQ(peer_->SLock("job", id + "2"), "done 0");
    EXPECT_EQ(admin.Status().size(), 2U);
    admin.Break("job", "an operator");
    EXPECT_TRUE(admin.Status().empty());
    EXPECT_EQ(peer_->Unlock(id), "done 0");
    EXPECT_NO_THROW(RecreatedMongoLock::ReadStrictly(Document()));
  }
  ASSERT_EQ(peer_->XLock("job", "theirs", 0), "done 0");
  EXPECT_EQ(admin.Purge().expired, 0);
  EndIn(-kMarginMs);
  EXPECT_TRUE(admin.Status().at(0).expired);
  EXPECT_EQ(admin.Purge().expired, 1);
  EXPECT_TRUE(admin.Status().empty());
  EXPECT_EQ(peer_->XLock("job", "theirs"), "done 0");
  // Their indexes, as they make them: theirs finds them there.
  provider.EnsureIndexes();
  EXPECT_EQ(peer_->CreateIndexes(), "done 0");
}

/// A named lock from beginning to end, with waiters of this process, and a mutex that many share.
TEST_P(MongoLock, WaitersOfAProcessHandItOver) {
  const LockManager manager(OpenMongodbStore(database_.uri(), WithMongoLock()));
  const LockProvider provider(manager, "locks");
  std::optional<HeldLock> first = provider.Acquire("job");
  const std::int64_t fence = first->fence();
  std::jthread second([&] {
    HeldLock lock = provider.Acquire("job", {.wait = kForever});
    EXPECT_GT(lock.fence(), fence);
    EXPECT_EQ(peer_->SLock("job", "theirs"), "locked");
    lock.Renew();
    lock.Release();
  });
  first->Release();
  second.join();
  HeldLock shared = provider.Acquire("job", {.mode = LockMode::kShared, .max_holders = 2});
  EXPECT_EQ(peer_->SLock("job", "theirs", 2), "done 0");
  EXPECT_FALSE(provider.TryAcquire("job", {.mode = LockMode::kShared, .max_holders = 2}));
  shared.Renew();
  shared.Release();
  EXPECT_THAT(peer_->Status("job"), StartsWith("done 1 shared/theirs"));
}

TEST_P(MongoLock, AMalformedDocumentIsNamed) {
  const std::map<std::string, std::string> spoilt = {
      {R"({"$unset": {"exclusive": 1}})", "exclusive"},
      {R"({"$set": {"exclusive": []}})", "exclusive"},
      {R"({"$unset": {"exclusive.acquired": 1}})", "exclusive.acquired"},
      {R"({"$set": {"exclusive.lockId": null}})", "exclusive.lockId"},
      {R"({"$set": {"exclusive.owner": {"name": "x"}}})", "exclusive.owner"},
      {R"({"$set": {"exclusive.expiresAt": 5}})", "exclusive.expiresAt"},
      {R"({"$unset": {"exclusive.createdAt": 1}})", "exclusive.createdAt"},
      {R"({"$unset": {"shared": 1}})", "shared"},
      {R"({"$set": {"shared.count": 1}})", "shared.count"},
      {R"({"$set": {"shared.locks": {}}})", "shared.locks"},
      {R"({"$set": {"shared": {"count": 1, "locks": [{}]}}})", "shared.count"},
      {R"({"$set": {"exclusive": {"acquired": false}, "shared": {"count": 1, "locks": [5]}}})",
       "shared.locks.lockId"},
      {R"({"$set": {"exclusive": {"acquired": false}, "shared": {"count": 0, "locks": null}}})",
       "shared.locks"},
      {R"({"$set": {"exclusive": {"acquired": false}, "shared": {"count": -1, "locks": []}}})",
       "shared.count"},
      {R"({"$set": {"exclusive": {"acquired": false}, "shared": {"count": 2, "locks": []}}})",
       "shared.count"},
      {R"({"$set": {"exclusive": {"acquired": false}, "shared": {"count": 0.5, "locks": []}}})",
       "shared.count"},
      {R"({"$set": {"exclusive": {"acquired": false}, "shared": {"locks": []}}})", "shared.count"},
      {R"({"$set": {"exclusive": {"acquired": false}, "shared": 5}})", "shared"},
      {R"([{"$set": {"exclusive": {"acquired": false}}}, {"$unset": "shared"}])", "shared"}};
  for (const auto& [change, field] : spoilt) {
    ASSERT_EQ(peer_->XLock("job", "theirs"), "done 0");
    EndIn(-kMarginMs);
    Change(change);
    const std::string before = database_.Stored({}, "locks");
    const AcquireOp refused = Take();
    EXPECT_EQ(refused.status, OpStatus::kFailed) << change;
    if (refused.detail) {
      EXPECT_EQ(refused.detail->code, Errc::kMalformed);
      EXPECT_THAT(refused.detail->message, HasSubstr("(" + field + ")")) << change;
    }
    EXPECT_NE(locks_.RenewShare(key_, NewUuid()).status, OpStatus::kDone);
    EXPECT_NE(locks_.Renew(key_, NewUuid()).status, OpStatus::kDone);
    EXPECT_EQ(database_.Stored({}, "locks"), before) << change;
    Change(R"({"resource": "job", "exclusive": {"acquired": false},
               "shared": {"count": 0, "locks": []}})");
  }
  // Names that theirs does not know are skipped, as theirs does.
  Change(R"({"$set": {"more": 1, "exclusive.more": 2, "shared.more": 3}})");
  EXPECT_EQ(Take().status, OpStatus::kDone);
  EXPECT_EQ(Document()["more"]["$numberInt"], "1");
}

TEST_P(MongoLock, WhatItCannotPromiseIsRefusedBeforeAnythingIsSent) {
  const AcquireOp held = Take();
  pool_.Take();
  const auto refused = [](const StoreOp& op) {
    return op.status == OpStatus::kFailed && op.detail->code == Errc::kRefused
               ? op.detail->message
               : "not refused: " + Why(op);
  };
  const auto has_no = [](const std::string& feature) {
    return HasSubstr("locks has the layout mongolock, which has no " + feature);
  };
  EXPECT_THAT(refused(locks_.Acquire(key_, {.id = NewUuid(), .insert = kNone, .min_hold = 5s})),
              has_no("min_hold"));
  EXPECT_THAT(refused(locks_.Acquire(key_, NewUuid(), Counted(1))), has_no("bodies"));
  EXPECT_THAT(refused(locks_.Acquire(Key(5), NewUuid(), kNone)), has_no("keys but text"));
  EXPECT_THAT(refused(locks_.Write(key_, WriteKind::kCheckpoint, held.request.grant.lock_id,
                                   {.expected = held.result.version})),
              has_no("bodies"));
  EXPECT_EQ(pool_.TakeCount(), 0);
}

/// Without it theirs do not exclude each other.
TEST_P(MongoLock, TheUniqueIndexIsThereOnceItIsOpened) {
  database_.Run(Doc::Of("drop", "locks"));
  ASSERT_EQ(peer_->XLock("job", "theirs"), "done 0");
  const Client opened(OpenMongodbStore(database_.uri(), WithMongoLock()), "locks");
  EXPECT_EQ(peer_->XLock("job", "another"), "locked");
  EXPECT_EQ(peer_->CreateIndexes(), "done 0");
  database_.Run(Doc::Of("drop", "locks"));
  for (int i = 0; i < 2; ++i) {
    const auto twice =
        mongo_docs_test::Parse(R"({"insert": "locks", "documents": [{"resource": "job"}]})");
    Doc insert;
    bson_concat(insert.get(), twice.get());
    database_.Run(insert);
  }
  EXPECT_THAT(Refusal(), HasSubstr("has two documents of one lock, 'job'"));
}

/// createIndexes says that there is one of this name: two clients could make two documents.
TEST_P(MongoLock, AnIndexOfTheNameThatDoesNotKeepNamesApartIsRefused) {
  const std::map<std::string, std::string> bad = {
      {R"("key": {"resource": 1})", "resource that is not unique"},
      {R"("key": {"resource": 1}, "unique": true,
           "partialFilterExpression": {"resource": {"$gt": "b"}})",
       "resource that is partial"},
      {R"("key": {"resource": 1}, "unique": true, "collation": {"locale": "en", "strength": 2})",
       "resource that has a collation"},
      {R"("key": {"job": 1, "site": -1}, "unique": true)", "job, site"}};
  for (const auto& [spec, fault] : bad) {
    database_.Run(Doc::Of("drop", "locks"));
    database_.Run(FromJson(R"({"createIndexes": "locks", "indexes": [{"name": "resource_1", )" +
                           spec + "}]}"));
    EXPECT_THAT(Refusal(), HasSubstr("has the index resource_1 over " + fault +
                                     " in place of a unique one over resource; drop this index"));
  }
  database_.Run(Doc::Of("drop", "locks"));
  database_.Run(FromJson(
      R"({"createIndexes": "locks", "indexes": [{"key": {"resource": 1}, "name": "another"}]})"));
  EXPECT_EQ(Refusal(), "opened") << "theirs is made beside it";
}

TEST_P(MongoLockFaults, WhatIsInDoubtIsFoundOut) {
  const LockManager manager(OpenMongodbStore(pool_.get(), database_.name(), WithMongoLock()));
  const LockProvider provider(manager, "locks");
  const auto lose = [&](const char* command) {
    return FailPoint(database_, {.name = "no majority in time", .concern_code = 64},
                     {.collection = "locks", .times = 1, .commands = {command}});
  };
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    std::optional<HeldLock> lock;
    {
      const FailPoint lost = lose("update");
      lock = provider.Acquire("job", {.mode = mode});
    }
    const Json doc = Document();
    const Json& stored = mode == LockMode::kShared ? doc["shared"]["locks"][0] : doc["exclusive"];
    EXPECT_THAT(stored["comment"], ::testing::EndsWith("fence " + std::to_string(lock->fence())));
    {
      const FailPoint lost = lose("update");
      try {
        lock->Renew();
      } catch (const InDoubtException&) {
        // Not known; the keeper goes on.
      }
      EXPECT_TRUE(lock->held());
    }
    const FailPoint lost = lose("update");
    EXPECT_NO_THROW(lock->Release());
    EXPECT_EQ(peer_->Status("job"), "done 0");
  }
  const FailPoint lost = lose("findAndModify");
  EXPECT_EQ(Take().detail->code, Errc::kUnavailable);
  EXPECT_EQ(peer_->XLock("job", "theirs"), "done 0") << "a vacant document is left";
}

TEST_P(MongoLockFaults, AHandOverInDoubtIsFoundOut) {
  const auto store = OpenMongodbStore(pool_.get(), database_.name(), WithMongoLock());
  const auto lose = [&] {
    return FailPoint(database_, {.name = "no majority in time", .concern_code = 64},
                     {.collection = "locks", .times = 1, .commands = {"update"}});
  };
  EXPECT_GT(HandOversInDoubt(store, pool_, "job", lose), 0);
  EXPECT_EQ(peer_->Status("job"), "done 0");
}

TEST(MongoLockOptions, AreInTheUrlToo) {
  Database database(SetUri());
  RecreatedMongoLock peer(SetUri(), database.name());
  ASSERT_EQ(peer.XLock("job", "theirs"), "done 0");
  const std::string uri = database.uri();
  const std::string sign = uri.find('?') == uri.npos ? "?" : "&";
  const LockManager manager(OpenStore(uri + sign + "doclockLayout=locks:mongolock"));
  EXPECT_FALSE(LockProvider(manager, "locks").TryAcquire("job"));
  EXPECT_THROW(LockProvider(LockManager(OpenStore(uri)), "locks"), StoreException)
      << "without the layout";
  EXPECT_THROW(OpenStore(uri + sign + "doclockLayout=locks:mongo-lock"), std::invalid_argument);
}

}  // namespace
}  // namespace doclock::mongo_test
