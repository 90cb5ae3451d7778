/// Documents whose _id is a UUID of subtype 3, as drivers wrote them before there was subtype 4.
/// They cannot be locked, and the error says why.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "doclock/doclock.h"
#include "mongodb/bson/uuid_bounds.h"
#include "mongodb/support/client.h"
#include "mongodb/support/raw_documents.h"

namespace doclock::mongo_docs_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Things = LockingRepository<nlohmann::json>;

class LegacyIds : public ::testing::Test {
 protected:
  void Put(const Uuid& id, int n) {
    mongodb::Doc doc;
    mongodb::AddLegacyUuid(doc, "_id", id).Add("n", n);
    documents_.Insert("things", doc);
  }
  /// The text of a refusal.
  template <class Call>
  static std::string RefusalOf(const Call& call) {
    try {
      call();
      return "(none)";
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kRefused);
      EXPECT_FALSE(error.transient());
      return error.what();
    }
  }

  Documents documents_;
  std::shared_ptr<Store> store_ = OpenMongodbStore(documents_.uri());
  Things things_{LockManager(store_), "things"};
};

/// .NET and Java wrote a UUID's bytes in orders of their own.
TEST_F(LegacyIds, AreReportedForTheUuidInAnyOrderOfBytes) {
  const Uuid same = NewUuid(), net = NewUuid(), java = NewUuid();
  Uuid as_net = net, as_java = java;
  std::reverse(as_net.data, as_net.data + 4);
  std::reverse(as_net.data + 4, as_net.data + 6);
  std::reverse(as_net.data + 6, as_net.data + 8);
  std::reverse(as_java.data, as_java.data + 8);
  std::reverse(as_java.data + 8, as_java.data + 16);
  Put(same, 1);
  Put(as_net, 2);
  Put(as_java, 3);
  for (const Uuid& id : {same, net, java}) {
    const auto increment = [](nlohmann::json& document) { document["n"] = 0; };
    for (const std::string& text : {RefusalOf([&] { static_cast<void>(things_.Lock(id)); }),
                                    RefusalOf([&] { static_cast<void>(things_.TryLock(id)); }),
                                    RefusalOf([&] { static_cast<void>(things_.Find(id)); }),
                                    RefusalOf([&] { things_.Update(id, increment); })}) {
      EXPECT_THAT(text, HasSubstr("UUID of subtype 3"));
      EXPECT_THAT(text, HasSubstr("things"));
    }
  }
  // A key without any document is just missing.
  EXPECT_THROW(static_cast<void>(things_.Lock(NewUuid())), NotFoundException);
  EXPECT_FALSE(things_.Find(NewUuid()));
  EXPECT_EQ(documents_.Count("things"), 3);
}

TEST_F(LegacyIds, AreNamedToEachOfManyWhoAskTogether) {
  const Uuid old = NewUuid(), other = NewUuid(), none = NewUuid();
  Put(old, 1);
  things_.Insert(other, {{"n", 2}});
  mongo_test::Client client(store_);
  const Key keys[] = {old, other, none, "text"};
  std::vector<AcquireOp> acquires;
  std::vector<ReadOp> reads;
  std::vector<StoreOp*> batch;
  for (const Key& key : keys) {
    AcquireOp& op = acquires.emplace_back(client.collection(), key);
    op.grant.lock_id = NewUuid();
    op.grant.ttl = 30s;
    reads.emplace_back(client.collection(), key);
  }
  for (AcquireOp& op : acquires) batch.push_back(&op);
  store_->Execute(batch, 10s);
  batch.clear();
  for (ReadOp& op : reads) batch.push_back(&op);
  store_->Execute(batch, 10s);
  const auto expect = [](const auto& ops) {
    ASSERT_EQ(ops[0].status, OpStatus::kFailed);
    EXPECT_EQ(ops[0].detail->code, Errc::kRefused);
    EXPECT_EQ(ops[1].status, OpStatus::kDone);
    EXPECT_EQ(ops[2].status, OpStatus::kMissing);
    EXPECT_EQ(ops[3].status, OpStatus::kMissing);
  };
  expect(acquires);
  expect(reads);
}

TEST_F(LegacyIds, EndASearchThatComesUponThem) {
  Put(NewUuid(), 1);
  things_.Insert("a", {{"n", 1}});
  things_.Insert("b", {{"n", 2}});
  EXPECT_THAT(RefusalOf([&] { things_.ForEach(Filter{}, [](const auto&) { return true; }); }),
              HasSubstr("UUID of subtype 3"));
  EXPECT_NE(RefusalOf([&] { static_cast<void>(things_.Find(Filter{})); }), "(none)");
  // Documents that do not meet the filter do no harm, nor do those after the limit.
  EXPECT_EQ(things_.Find(Filter{}.Equal("n", 2)).size(), 1u);
  EXPECT_EQ(things_.Find(Filter{}.Equal("n", 1).Limit(1)).size(), 1u);
}

TEST_F(LegacyIds, AreNamedWhenThereIsNothingElseToLock) {
  Put(NewUuid(), 1);
  things_.Insert("a", {{"n", 1}});
  things_.Insert("b", {{"n", 2}});
  const auto held = things_.TryLockNext(Filter{}.Equal("n", 1));
  ASSERT_TRUE(held);
  EXPECT_EQ(held->key(), Key("a"));
  EXPECT_THAT(RefusalOf([&] { static_cast<void>(things_.TryLockNext(Filter{}.Equal("n", 1))); }),
              HasSubstr("UUID of subtype 3"));
  EXPECT_FALSE(things_.TryLockNext(Filter{}.Equal("n", 3)));
}

TEST_F(LegacyIds, AreListedAsMalformedWhileTheyAreLocked) {
  const Uuid held = NewUuid();
  Put(NewUuid(), 1);
  mongodb::Doc doc;
  mongodb::AddLegacyUuid(doc, "_id", held).Add("lockId", NewUuid());
  bson_append_date_time(doc.get(), "lockTime", -1, 1);
  documents_.Insert("things", doc);
  const auto mine = things_.Lock("a", nlohmann::json::object());
  mongo_test::Client client(store_);
  const LockPage page = store_->ListLocks(client.collection(), {}, {}, 10s);
  ASSERT_EQ(page.rows.size(), 2u);
  for (const LockRow& row : page.rows) {
    EXPECT_EQ(row.malformed, row.key == Key(held));
    EXPECT_TRUE(row.malformed || row.key == Key("a"));
  }
}

}  // namespace
}  // namespace doclock::mongo_docs_test
