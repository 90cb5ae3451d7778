/// The fence of an exclusive lock in a list of locks: the version of its grant, also once its
/// holder has raised the version.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "doclock/lock_manager.h"
#include "doclock/locking_repository.h"
#include "mongodb/support/client.h"
#include "mongodb/support/raw_documents.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Doc;
using nlohmann::json;

class MongoFence : public ::testing::Test {
 protected:
  void SetUp() override { things_.Insert("a", {{"n", 1}}); }

  /// What the list of locks shows of the only document.
  LockRow Row() {
    const auto collection = store_->Open("things", {}, kTtl);
    const LockPage page = store_->ListLocks(*collection, {}, "", 10s);
    EXPECT_EQ(page.rows.size(), 1U);
    return page.rows.empty() ? LockRow() : page.rows.front();
  }
  std::optional<std::int64_t> Shown() { return Row().fence; }
  /// A foreign program's change.
  void Change(const std::string& fields) {
    database_.Update("things", "a", R"({"$set": )" + fields + "}");
  }
  std::int64_t BytesOf(const std::string& field) {
    const auto size = [&] { return std::int64_t{database_.Find("things", Key("a"))->len}; };
    const std::int64_t with = size();
    database_.Update("things", Doc::Of("_id", "a"), Doc::Of("$unset", Doc::Of(field, "")));
    return with - size();
  }

  Database database_{SetUri()};
  std::shared_ptr<Store> store_ = OpenMongodbStore(database_.uri());
  LockManager manager_{store_};
  LockingRepository<json> things_{manager_, "things"};
};

TEST_F(MongoFence, IsShownOfALockWhoseHolderHasSaved) {
  auto held = things_.Lock("a");
  EXPECT_EQ(Shown(), held.fence());
  for (int i = 0; i < 3; ++i) {
    (*held)["n"] = i;
    held.Save();
    ASSERT_GT(held.version(), held.fence());
    EXPECT_EQ(Shown(), held.fence());
  }
}

TEST_F(MongoFence, OfAnEarlierLockIsNotThatOfTheNext) {
  auto first = things_.Lock("a");
  first.Save();
  first.Release();
  auto second = things_.Lock("a");
  EXPECT_EQ(Shown(), second.fence());
  second.Save();
  EXPECT_EQ(Shown(), second.fence());
  EXPECT_GT(second.fence(), first.fence());
}

TEST_F(MongoFence, IsThatOfTheNextHolderAfterAHandOver) {
  auto first = things_.Lock("a");
  first.Save();
  auto waits = things_.LockAsync("a", LockOptions{.wait = 5min});
  first.Release();
  auto second = waits.get();
  EXPECT_EQ(Shown(), second.fence());
}

TEST_F(MongoFence, IsShownOfADocumentThatWasMadeByItsLock) {
  auto held = things_.Lock({"b", json{{"n", 1}}});
  held.Save();
  EXPECT_EQ(Shown(), held.fence());
  EXPECT_EQ(held.fence(), 1);
}

/// A body whose base is not known replaces the document: in a pipeline.
TEST_F(MongoFence, IsKeptByAWriteThatReplacesTheWholeBody) {
  Client client(store_);
  const Key key("a");
  const AcquireOp held = client.Acquire(key, NewUuid());
  WriteOp save = client.WriteOf(key, WriteKind::kCheckpoint, held.request.grant.lock_id,
                                {.expected = held.result.version});
  save.request.fence = held.result.version;
  save.request.body = Counted(2);
  save.request.ttl = kTtl;
  client.Execute(save);
  ASSERT_EQ(save.status, OpStatus::kDone) << Why(save);
  EXPECT_EQ(Shown(), held.result.version);
  EXPECT_EQ(client.Read(key).result.body.json(), json({{"n", 2}}));
}

TEST_F(MongoFence, IsUnknownWhereTheWriterDoesNotTellIt) {
  Client client(store_);
  const AcquireOp held = client.Acquire("a", NewUuid());
  const WriteOp save = client.Write("a", WriteKind::kCheckpoint, held.request.grant.lock_id,
                                    {.expected = held.result.version, .body = Counted(2)});
  ASSERT_EQ(save.status, OpStatus::kDone) << Why(save);
  EXPECT_EQ(Shown(), std::nullopt);
}

TEST_F(MongoFence, WhateverAnotherProgramWroteThereRefusesNothing) {
  for (const char* foreign :
       {R"({"lockFence": 3})", R"({"lockFence": "x"})", R"({"lockFence": {}})",
        R"({"lockFence": {"of": 1, "at": 1}})", R"({"lockFence": []})",
        R"({"lockFence": {"of": {"$uuid": "00000000-0000-0000-0000-000000000000"}, "at": 1}})"}) {
    SCOPED_TRACE(foreign);
    Change(foreign);
    auto held = things_.Lock("a");
    EXPECT_FALSE(Row().malformed);
    EXPECT_EQ(Shown(), std::nullopt);
    held.Save();
    EXPECT_EQ(Shown(), held.fence());
    held.Release();
    EXPECT_EQ((**things_.Find("a")).dump(), R"({"n":1})");
  }
}

TEST_F(MongoFence, IsUnknownOfALockThatOnlyAnotherProgramTook) {
  const auto other = store_->Open("others", {}, kTtl);
  Doc doc = Doc::Of("_id", "x");
  doc.Add("lockId", NewUuid());
  bson_append_date_time(doc.get(), "lockTime", -1, 4'000'000'000'000);
  database_.Insert("others", doc);
  const LockPage page = store_->ListLocks(*other, {}, "", 10s);
  ASSERT_EQ(page.rows.size(), 1U);
  EXPECT_EQ(page.rows.front().fence, std::nullopt);
}

TEST_F(MongoFence, CostsNothingUnlessTheHolderSaves) {
  auto held = things_.Lock("a");
  EXPECT_EQ(BytesOf("lockFence"), 0);
  held.Save();
  EXPECT_EQ(BytesOf("lockFence"), 53);
}

}  // namespace
}  // namespace doclock::mongo_test
