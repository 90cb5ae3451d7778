/// The server's work for doclock's commands, by its own profiler.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doclock/doclock.h"
#include "doclock/stores/mongodb.h"
#include "doclock/time.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_docs_test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr int kDocuments = 300;

class IndexUse : public ::testing::Test {
 protected:
  IndexUse() {
    mongodb::Array jobs;
    for (int i = 0; i < kDocuments; ++i) {
      mongodb::Doc doc;
      doc.Add("_id", i).Add("status", i % 3 == 0 ? "queued" : "done").Add("n", i);
      bson_append_date_time(doc.get(), "due", -1, 1000 + i);
      jobs.Add(doc);
    }
    documents_.Insert("jobs", jobs);
  }

  void Profile(int level) { documents_.Run(mongodb::Doc::Of("profile", level)); }
  /// The profiler's entry for the last command of that name on the jobs.
  BsonPtr Profiled(const std::string& command) {
    mongodb::Doc find;
    find.Add("find", "system.profile");
    mongodb::Doc filter;
    filter.Add("command." + command, "jobs");
    find.Add("filter", filter).Add("sort", mongodb::Doc::Of("ts", -1)).Add("limit", 1);
    const BsonPtr reply = documents_.Run(find);
    bson_iter_t iter, first;
    bson_t doc;
    if (!bson_iter_init(&iter, reply.get()) ||
        !bson_iter_find_descendant(&iter, "cursor.firstBatch.0", &first) ||
        !mongodb::DocumentAt(first, doc)) {
      throw std::runtime_error("the profiler saw no " + command);
    }
    return Copy(doc);
  }
  static void ExpectPlan(const bson_t& profiled, const std::string& plan, std::int64_t most) {
    bson_iter_t iter;
    ASSERT_TRUE(bson_iter_init_find(&iter, &profiled, "planSummary")) << Canonical(profiled);
    EXPECT_EQ(std::string(bson_iter_utf8(&iter, nullptr)), plan);
    EXPECT_FALSE(bson_iter_init_find(&iter, &profiled, "hasSortStage")) << Canonical(profiled);
    ASSERT_TRUE(bson_iter_init_find(&iter, &profiled, "docsExamined"));
    EXPECT_LE(bson_iter_as_int64(&iter), most);
  }

  mongo_test::Database documents_;
  LockManager manager_{OpenMongodbStore(documents_.uri())};
  const LockingRepository<Json> jobs_{manager_, "jobs"};
  const Filter due_ = Filter{}
                          .Equal("status", "queued")
                          .AtMost("due", Date(Date::TimePoint(10'000ms)))
                          .OrderBy("due");
};

TEST_F(IndexUse, OfLockNextIsWhatEnsureIndexesMakes) {
  jobs_.EnsureIndexes({due_});
  jobs_.EnsureIndexes({due_});  // again: nothing happens
  Profile(2);
  auto first = jobs_.LockNext(due_);
  Profile(0);
  EXPECT_EQ(first.key(), Key(0));
  ExpectPlan(*Profiled("findAndModify"), "IXSCAN { status: 1, due: 1, _id: 1 }", 1);
  auto second = jobs_.LockNext(due_);
  EXPECT_EQ(second.key(), Key(3));
}

TEST_F(IndexUse, OfLockNextDownwardsIsAnIndexDownwards) {
  const Filter latest = Filter{}.Greater("n", 5).OrderByDescending("n");
  jobs_.EnsureIndexes({latest});
  Profile(2);
  auto first = jobs_.LockNext(latest);
  Profile(0);
  EXPECT_EQ(first.key(), Key(kDocuments - 1));
  ExpectPlan(*Profiled("findAndModify"), "IXSCAN { n: -1, _id: 1 }", 1);
}

TEST_F(IndexUse, OfFindIsTheSame) {
  jobs_.EnsureIndexes({due_});
  Profile(2);
  EXPECT_EQ(jobs_.Find(due_).size(), 100U);
  Profile(0);
  ExpectPlan(*Profiled("aggregate"), "IXSCAN { status: 1, due: 1, _id: 1 }", 100);
}

TEST_F(IndexUse, OfPurgeIsThatOfHeldLocks) {
  jobs_.EnsureIndexes();
  auto live = jobs_.Lock(1);
  for (int i = 10; i < 13; ++i) {
    jobs_.Lock(i).Detach();
    documents_.Update("jobs", i, R"({"$set": {"lockTime": {"$date": {"$numberLong": "1000"}}}})");
  }
  Profile(2);
  EXPECT_EQ(jobs_.Admin().Purge().expired, 3);
  Profile(0);
  ExpectPlan(*Profiled("find"), "IXSCAN { lockId: 1, _id: 1 }", 4);
}

class ForeignIndex : public IndexUse {
 protected:
  /// A unique index that EnsureIndex did not make.
  void Plant(const char* name, const bson_t& filter) {
    mongodb::Doc spec, command;
    spec.Add("key", mongodb::Doc::Of("code", 1)).Add("name", name).Add("unique", true);
    mongodb::Doc partial;
    bson_concat(partial.get(), &filter);
    spec.Add("partialFilterExpression", partial);
    command.Add("createIndexes", "jobs");
    command.Add("indexes", mongodb::Array().Add(spec));
    documents_.Run(command);
  }
  static mongodb::Doc Drop(const char* name) {
    mongodb::Doc command = mongodb::Doc::Of("dropIndexes", "jobs");
    command.Add("index", name);
    return command;
  }
};

TEST_F(ForeignIndex, OfTheSameNameStays) {
  Plant("doclock_code_unique", *Parse(R"({"code": {"$exists": true}})"));
  EXPECT_THROW(jobs_.EnsureIndex({"code"}, true), StoreException);
  EXPECT_NO_THROW(documents_.Run(Drop("doclock_code_unique")));
}

/// As another program, or an administrator by hand, makes them.
TEST_F(ForeignIndex, ThatDoesTheSameWorkIsEnough) {
  const auto all = [this] {
    std::vector<BsonPtr> indexes;
    const BsonPtr reply = documents_.Run(mongodb::Doc::Of("listIndexes", "jobs"));
    bson_t cursor, index;
    if (!mongodb::FindDocument(*reply, "cursor", cursor)) return indexes;
    mongodb::ForEachItem(cursor, "firstBatch", [&](const bson_iter_t& item) {
      if (mongodb::DocumentAt(item, index)) indexes.push_back(Copy(index));
      return true;
    });
    return indexes;
  };
  const auto ensure = [this] {
    jobs_.EnsureIndex({"code"}, true);
    jobs_.EnsureIndexes({due_, Filter{}.Greater("n", 5).OrderByDescending("n")});
  };
  ensure();
  const std::vector<BsonPtr> ours = all();
  ASSERT_EQ(ours.size(), 5U);  // that of _id, and that of held locks
  for (const BsonPtr& index : ours) {
    const std::string name = mongodb::TextAt(*index, "name");
    if (name == "_id_") continue;
    documents_.Run(Drop(name.c_str()));
    mongodb::Doc theirs, command;
    bson_copy_to_excluding_noinit(index.get(), theirs.get(), "name", nullptr);
    theirs.Add("name", "by_hand_" + name);
    command.Add("createIndexes", "jobs").Add("indexes", mongodb::Array().Add(theirs));
    documents_.Run(command);
  }
  EXPECT_NO_THROW(ensure());
  EXPECT_EQ(all().size(), ours.size());
}

TEST_F(ForeignIndex, ThatDoesOtherWorkIsNamed) {
  mongodb::Doc spec, command;
  spec.Add("key", mongodb::Doc::Of("n", -1).Add("_id", 1))
      .Add("name", "theirs")
      .Add("hidden", true);
  command.Add("createIndexes", "jobs").Add("indexes", mongodb::Array().Add(spec));
  documents_.Run(command);
  try {
    jobs_.EnsureIndexes({Filter{}.Greater("n", 5).OrderByDescending("n")});
    ADD_FAILURE() << "the server uses no hidden index";
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("another index theirs over n: -1, _id: 1"));
  }
  EXPECT_NO_THROW(documents_.Run(Drop("theirs")));
}

TEST_F(IndexUse, IsNeverNeeded) {
  EXPECT_EQ(jobs_.LockNext(due_).key(), Key(0));
  EXPECT_EQ(jobs_.Find(due_).size(), 100U);
  EXPECT_EQ(jobs_.Admin().Purge().expired, 0);
}

TEST_F(IndexUse, OfEveryOtherCommandIsThatOfTheKey) {
  Profile(2);
  {
    auto held = jobs_.Lock(7);
    (*held)["n"] = 8;
    held.Save();
    held.Release();
  }
  Profile(0);
  EXPECT_THROW(Profiled("delete"), std::runtime_error);
  ExpectPlan(*Profiled("findAndModify"), "IXSCAN { _id: 1 }", 1);
}

}  // namespace
}  // namespace doclock::mongo_docs_test
