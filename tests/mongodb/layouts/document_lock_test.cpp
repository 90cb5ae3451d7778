// Collections of MongoLocks: bodies, which only they have (see layout_test.cpp).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "doclock/json/bson.h"
#include "doclock/locking_repository.h"
#include "mongodb/bson/bson.h"
#include "mongodb/layouts/document_lock.h"
#include "mongodb/layouts/layout_fixture.h"
#include "mongodb/support/fail_point.h"

namespace doclock::mongo_test {
namespace {

using Tree = nlohmann::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class DocumentLock : public LayoutTest {
 protected:
  DocumentLock() : LayoutTest("mongolocks-30") {}

  DocumentLockPeer& peer() { return static_cast<DocumentLockPeer&>(*peer_); }
  std::string Value() { return mongodb::TextAt(*Document(), "Value"); }
  WriteOp Write(WriteKind kind, const AcquireOp& held, const Tree& body, bool is_retry = false,
                const GrantRequest* next = nullptr) {
    WriteOp op = locks_.WriteOf(key_, kind, held.request.grant.lock_id,
                                {.expected = held.result.version, .body = Body::FromJson(body)});
    op.request.base = held.result.body;
    op.request.ttl = kTtl;
    op.is_retry = is_retry;
    op.request.next = next;
    locks_.Execute(op);
    return op;
  }

  const LockManager manager_{OpenMongodbStore(pool_.get(), database_.name(), options_)};
  const LockingRepository<Tree> documents_{manager_, "locks"};
  const Key id_ = stored_key_;
};

TEST_F(DocumentLock, AReleaseStoresTheBody) {
  auto held = documents_.Lock(id_);
  EXPECT_EQ(*held, Tree({{"Value", "0"}}));
  (*held)["Value"] = "ours";
  held.Release();
  EXPECT_TRUE(IsFree());
  EXPECT_NO_THROW(peer_->ReadStrictly(*Document()));
  EXPECT_EQ(Value(), "ours");
  EXPECT_EQ(documents_.Find(id_).value()->at("Value"), "ours");
}

/// OpenSleigh's have `Data` too.
TEST_F(DocumentLock, AnEntityMayHaveMembersThatASagaStateHas) {
  Change(R"({"$set": {"CorrelationId": "1", "Type": "1"}})");
  const LockManager manager(OpenMongodbStore(database_.uri(), options_));
  const LockingRepository<Tree> documents(manager, "locks");
  EXPECT_EQ(documents.Lock(id_)->at("Type"), "1");
}

TEST_F(DocumentLock, ACheckpointStoresTheBodyAndKeepsTheLock) {
  auto held = documents_.Lock(id_);
  for (const char* const value : {"first", "second"}) {
    (*held)["Value"] = value;
    held.Save();
    EXPECT_EQ(Value(), value);
    EXPECT_NO_THROW(peer_->ReadStrictly(*Document()));
    EXPECT_FALSE(peer_->TryAcquire(job_, kTtl));
  }
  (*held)["Value"] = "third";
  held.Release();
  EXPECT_EQ(Value(), "third");
}

/// Who locks next has the body of who released last, on either side.
TEST_F(DocumentLock, ACounterInTheBodyCountsEveryReleaseOfBothSides) {
  constexpr int kRounds = 40;
  const auto ours = [&] {
    for (int i = 0; i < kRounds; ++i) {
      auto held = documents_.Lock(id_, {.wait = 1min});
      (*held)["Value"] = std::to_string(std::stoi(held->at("Value").get<std::string>()) + 1);
      held.Release();
    }
  };
  const auto theirs = [&] {
    DocumentLockPeer one(SetUri(), database_.name(), "locks");
    for (int i = 0; i < kRounds;) {
      const auto held = one.TryAcquire(job_, kTtl);
      if (!held) {
        std::this_thread::sleep_for(5ms);
        continue;
      }
      one.Release(job_, *held);
      EXPECT_TRUE(one.released());
      ++i;
    }
  };
  { const std::jthread a(ours), b(ours), c(theirs), d(theirs); }
  EXPECT_EQ(Value(), std::to_string(4 * kRounds));
  EXPECT_NO_THROW(peer_->ReadStrictly(*Document()));
}

TEST_F(DocumentLock, WhatTheirClassDoesNotKnowIsNotStored) {
  const AcquireOp held = Take();
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  const std::string before = Stored();
  for (const Tree& bad :
       {Tree({{"Value", "x"}, {"Other", 1}}), Tree::object(), Tree({{"Value", 7}}),
        Tree({{"Value", {{"of", "another type"}}}}), Tree({{"Value", "x"}, {"LockId", nullptr}}),
        Tree({{"Value", "x"}, {"LockTime", nullptr}})}) {
    for (const WriteKind kind : {WriteKind::kCheckpoint, WriteKind::kRelease}) {
      const WriteOp refused = Write(kind, held, bad);
      ASSERT_EQ(refused.status, OpStatus::kFailed) << bad << Why(refused);
      EXPECT_EQ(refused.detail->code, Errc::kDocument);
      EXPECT_EQ(Stored(), before);
    }
  }
  EXPECT_EQ(Write(WriteKind::kRelease, held, {{"Value", nullptr}}).status, OpStatus::kDone);
  EXPECT_NO_THROW(peer_->ReadStrictly(*Document()));
}

/// Their driver reads a long as a long, and a double as one.
TEST_F(DocumentLock, AMemberKeepsItsType) {
  Change(R"({"$set": {"Long": {"$numberLong": "5"}, "Double": 1.5, "Int": 1,
             "In": {"Long": {"$numberLong": "5"}, "Int": 1, "Double": 1.5, "List": [1, {"$numberLong": "5"}],
                    "Price": {"$numberDecimal": "5.25"}},
             "Id": {"$binary": {"base64": "AQIDBAUGBwgJCgsMDQ4PEA==", "subType": "04"}}}})");
  auto held = documents_.Lock(id_);
  (*held)["Long"] = 6;
  (*held)["Double"] = 2;
  (*held)["Int"] = 2;
  const Tree price = (*held)["In"]["Price"];
  (*held)["In"] = {{"Long", 6},         {"Int", 2}, {"Double", 3},
                   {"List", {2, 6, 7}}, {"New", 8}, {"Price", price}};
  held.Release();
  const auto type = [&](const char* field) {
    const auto document = Document();
    bson_iter_t at, found;
    const bool is_there =
        bson_iter_init(&at, document.get()) && bson_iter_find_descendant(&at, field, &found);
    return is_there ? bson_iter_type(&found) : BSON_TYPE_EOD;
  };
  EXPECT_EQ(type("Long"), BSON_TYPE_INT64);
  EXPECT_EQ(type("Double"), BSON_TYPE_DOUBLE);
  EXPECT_EQ(type("In.Double"), BSON_TYPE_DOUBLE);
  for (const char* const field : {"Int", "In.List.0", "In.New"})
    EXPECT_EQ(type(field), BSON_TYPE_INT32) << field;
  for (const char* const field : {"In.Long", "In.List.1", "In.List.2"})
    EXPECT_EQ(type(field), BSON_TYPE_INT64) << field;
  held = documents_.Lock(id_);
  const Tree before = *held;
  (*held)["Double"] = (std::int64_t{1} << 53) + 1;
  EXPECT_THROW(held.Save(), DocumentException);
  *held = before;
  for (const char* const member : {"Int", "Double"}) {
    (*held)["In"][member] = (std::int64_t{1} << 53) + 1;
    EXPECT_THROW(held.Save(), DocumentException) << member;
    *held = before;
  }
  (*held)["In"]["List"][1] = 1.5;
  EXPECT_THAT([&] { held.Save(); },
              ThrowsMessage<DocumentException>(HasSubstr("In.List.1 has a double where")));
  *held = before;
  (*held)["In"]["Price"] = 6.5;
  EXPECT_THAT([&] { held.Save(); },
              ThrowsMessage<DocumentException>(HasSubstr("In.Price has a number where")));
  *held = before;
  (*held)["Id"] = doclock::Binary{std::vector<std::uint8_t>(16, 1), 0};
  EXPECT_THROW(held.Save(), DocumentException);
}

TEST_F(DocumentLock, AMissingDocumentIsNotMade) {
  Delete();
  EXPECT_EQ(Take().status, OpStatus::kMissing);
  EXPECT_THROW(static_cast<void>(documents_.Lock(id_)), NotFoundException);
  EXPECT_THROW(static_cast<void>(documents_.Lock({id_, Tree({{"Value", "new"}})})), StoreException);
  EXPECT_FALSE(Document());
}

TEST_F(DocumentLock, ALockOfTheirsEndsAMarginAfterTheirMaximum) {
  const auto is_live = [](std::int64_t now) {
    mongodb::Doc doc =
        FromJson(R"({"Value": "0", "LockTime": {"$date": {"$numberLong": "10000"}}})");
    doc.Add("_id", NewUuid()).Add("LockId", NewUuid());
    std::string bad_field;
    const mongodb::DocumentLockLayout layout(milliseconds(3000));
    const auto lock = layout.Read(*doc.get(), now, bad_field);
    EXPECT_EQ(bad_field, "");
    return lock.IsLive(mongodb::kLookedAt);
  };
  EXPECT_TRUE(is_live(14000));
  EXPECT_FALSE(is_live(14001));
}

/// A client of theirs whose clock is ahead by the margin does not see it end before its holder.
TEST_F(DocumentLock, OursEndsForThemAMarginAfterItsLease) {
  const auto time_of_server = [&] {
    std::int64_t now = 0;
    database_.Run(mongodb::Doc::Of("hello", 1), [&](const bson_t& reply) {
      bson_iter_t time;
      if (mongodb::FindField(reply, "localTime", time)) now = bson_iter_date_time(&time);
    });
    return now;
  };
  const std::int64_t before = time_of_server();
  ASSERT_EQ(Take(NewUuid(), milliseconds(2000)).status, OpStatus::kDone);
  const std::int64_t after = time_of_server();
  const auto document = Document();
  bson_iter_t at;
  ASSERT_TRUE(mongodb::FindField(*document, "LockTime", at));
  const std::int64_t ends = bson_iter_date_time(&at) + 30'000;
  EXPECT_GE(ends, before + 3000);
  EXPECT_LE(ends, after + 3000);
}

/// A lock without a time does not end, on either side.
TEST_F(DocumentLock, ALockWithoutATimeStaysUntilItIsBroken) {
  const auto theirs = peer_->TryAcquire(job_, kTtl);
  ASSERT_TRUE(theirs);
  for (const char* const without :
       {R"({"$unset": {"LockTime": 1}})", R"({"$set": {"LockTime": null}})"}) {
    Change(without);
    const std::string before = Stored();
    EXPECT_EQ(Take().status, OpStatus::kBusy);
    EXPECT_FALSE(peer_->TryAcquire(job_, kTtl));
    const RenewOp renewal = locks_.Renew(key_, LockPeer::IdOf(theirs->lock_id));
    EXPECT_EQ(renewal.status, OpStatus::kDone) << Why(renewal);
    EXPECT_EQ(Stored(), before) << "never shorter";
  }
}

/// A lock that is shown as live, because a clock of theirs may be behind, may be over.
TEST_F(DocumentLock, ARenewalThatIsTooLateIsToldSo) {
  const auto renew = [&] {
    const auto theirs = peer_->TryAcquire(job_, kTtl);
    EXPECT_TRUE(theirs);
    Change(R"([{"$set": {"LockTime": {"$dateAdd": {"startDate": "$$NOW", "unit": "second",
                                                    "amount": -30}}}}])");
    pool_.Take();
    return locks_.Renew(key_, LockPeer::IdOf(theirs->lock_id));
  };
  EXPECT_EQ(renew().status, OpStatus::kLost);
  EXPECT_EQ(pool_.Take(), "find 1, update 1");
}

/// Ids that are no names of locks fill no page.
TEST_F(DocumentLock, DocumentsWithLegacyIdsHideNoLock) {
  ASSERT_EQ(Take().status, OpStatus::kDone);
  mongodb::Array documents;
  for (int i = 0; i < 1000; ++i) {
    mongodb::Doc document;
    mongodb::AddLegacyUuid(document, "_id", NewUuid());
    documents.Add(document.Add("Value", "0").Add("LockId", NewUuid()));
  }
  database_.Insert("locks", documents);
  EXPECT_EQ(locks_.store().ListLocks(locks_.collection(), {}, "", 10s).rows.size(), 1U);
}

/// What is held back on its way matches nothing once a later write was stored.
TEST_F(DocumentLock, ADelayedWriteChangesNothing) {
  // The later one asks for a shorter lease, so its end is not what makes the difference.
  const AcquireOp held = Take(NewUuid(), 10 * kTtl);
  const mongodb::DocumentLockLayout layout(kTtl);
  std::string bad_field;
  const auto seen = Document();
  rules::LockState was = layout.Read(*seen, 0, bad_field), now = was;
  ++now.version;
  const mongodb::Statement delayed = layout.Change(id_, *seen, was, now);
  ASSERT_EQ(Write(WriteKind::kCheckpoint, held, {{"Value", "later"}}).status, OpStatus::kDone);
  const std::string before = Stored();
  mongodb::Doc command = mongodb::Doc::Of("update", "locks");
  command.Add("updates", mongodb::Array().Add(delayed.doc));
  database_.Run(command, [](const bson_t& reply) {
    bson_iter_t n;
    EXPECT_TRUE(mongodb::FindField(reply, "n", n) && bson_iter_as_int64(&n) == 0);
  });
  EXPECT_EQ(Stored(), before);
}

/// Nothing of another's grant is left, and a third one has looked since.
TEST_F(DocumentLock, AGrantBetweenLookAndWriteIsNoticedThoughItIsReleased) {
  Client other(OpenMongodbStore(database_.uri(), options_), "locks");
  std::int64_t between = 0;
  pool_.Take();
  pool_.BeforeNext("update", [&] {
    const AcquireOp held = other.Acquire(key_, NewUuid(), kNone);
    between = held.result.version;
    other.Release(key_, held);
    mongodb::Doc look = mongodb::Doc::Of("findAndModify", "locks");
    look.Add("query", mongodb::Doc::Of("_id", id_));
    mongodb::DocumentLockLayout(kTtl).AddLook(look);
    database_.Run(look);
  });
  const AcquireOp held = Take();
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_GT(between, 0);
  EXPECT_GT(held.result.version, between);
  EXPECT_EQ(pool_.Take(), "findAndModify 2, update 2");
}

/// Their release of a lock that they have lost is refused, and so is ours.
TEST_F(DocumentLock, WhoLostItWritesNothing) {
  const auto theirs = peer_->TryAcquire(job_, kTtl);
  Expire();
  const AcquireOp held = Take();
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  peer_->Release(job_, *theirs);
  EXPECT_FALSE(peer().released());
  Expire();
  const auto next = peer_->TryAcquire(job_, kTtl);
  ASSERT_TRUE(next);
  EXPECT_EQ(Write(WriteKind::kRelease, held, {{"Value", "late"}}).status, OpStatus::kLost);
  EXPECT_EQ(Value(), "0");
}

TEST_F(DocumentLock, AValueThatAUniqueIndexHasIsAConflict) {
  Change(R"({"$set": {"Value": "1"}})");
  peer_->MakeDocument("3f0c7b1e-5a55-4bd2-9a43-0d1c1a6f9e12");  // "0"
  mongodb::Doc make = FromJson(R"({"createIndexes": "locks", "indexes":
      [{"key": {"Value": 1}, "name": "of_value", "unique": true}]})");
  database_.Run(make);
  auto held = documents_.Lock(id_);
  (*held)["Value"] = "0";
  EXPECT_THROW(held.Save(), ConflictException);
  EXPECT_THROW(held.Release(), ConflictException);
  (*held)["Value"] = "2";
  held.Release();
  EXPECT_EQ(Value(), "2");
}

class DocumentLockFaults : public DocumentLock {};

TEST_F(DocumentLockFaults, AReleaseWhoseAnswerWasLostIsToldByTheBody) {
  auto held = documents_.Lock(id_);
  (*held)["Value"] = "ours";
  {
    const FailPoint lost(database_, {.name = "no majority in time", .concern_code = 64},
                         {.collection = "locks", .times = 1, .commands = {"update"}});
    EXPECT_NO_THROW(held.Release());
  }
  EXPECT_TRUE(IsFree());
  EXPECT_EQ(Value(), "ours");
  // Where another body stands, nobody knows.
  const AcquireOp another = Take();
  Change(R"({"$set": {"Value": "theirs", "LockId": null, "LockTime": null}})");
  EXPECT_EQ(Write(WriteKind::kRelease, another, {{"Value", "ours"}}, true).status,
            OpStatus::kInDoubt);
  EXPECT_EQ(Write(WriteKind::kCheckpoint, another, {{"Value", "theirs"}}, true).status,
            OpStatus::kInDoubt);
  // The document has a double where the body has a whole number.
  Change(R"({"$set": {"Value": 2.0}})");
  EXPECT_EQ(Write(WriteKind::kRelease, another, {{"Value", 2}}, true).status, OpStatus::kLost);
  Change(R"({"$set": {"Value": {"List": [2.0, 3.5]}}})");
  EXPECT_EQ(Write(WriteKind::kRelease, another, {{"Value", {{"List", {2, 3.5}}}}}, true).status,
            OpStatus::kLost);
}

/// A body that was not changed stands there in any case.
TEST_F(DocumentLock, ARetriedHandOverIsProvedByTheNextHoldersLock) {
  const AcquireOp held = Take();
  const Tree body = held.result.body.json();
  GrantRequest next;
  next.lock_id = NewUuid();
  next.ttl = kTtl;
  Change(R"({"$set": {"LockId": null, "LockTime": null}})");
  EXPECT_EQ(Write(WriteKind::kRelease, held, body, true, &next).status, OpStatus::kInDoubt);
  EXPECT_EQ(locks_.Acquire(key_, {.id = next.lock_id, .insert = kNone, .ttl = kTtl}).status,
            OpStatus::kDone);
  EXPECT_EQ(Write(WriteKind::kRelease, held, body, true, &next).status, OpStatus::kLost);
}

TEST_F(DocumentLock, TheMaximumIsANumberOfSeconds) {
  for (const char* const good : {"mongolocks", "mongolocks-1", "mongolocks-86400"}) {
    EXPECT_NO_THROW(OpenMongodbStore(database_.uri(), Naming(good))) << good;
  }
  for (const char* const bad : {"mongolocks-", "mongolocks-0", "mongolocks-86401", "mongolocks-1m",
                                "mongolocks3", "mongolocks--3"}) {
    EXPECT_THROW(OpenMongodbStore(database_.uri(), Naming(bad)), std::invalid_argument) << bad;
  }
}

}  // namespace
}  // namespace doclock::mongo_test
