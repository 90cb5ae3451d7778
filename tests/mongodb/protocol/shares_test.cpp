/// Shared locks on MongoDB: what the conformance suite cannot see. Who is woken, how many processes
/// share, and what stands in the document.

#include <gtest/gtest.h>

#include <condition_variable>
#include <list>
#include <mutex>
#include <vector>

#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"
#include "process/child.h"
#include "process/temp_folder.h"

namespace doclock::mongo_test {
namespace {

class MongoShares : public ::testing::Test {
 protected:
  std::string Field(const std::string& name) {
    mongodb::Doc command;
    command.Add("find", "things");
    std::string shown;
    database_.Run(command, [&](const bson_t& reply) {
      bson_iter_t iter, value;
      if (!bson_iter_init(&iter, &reply) ||
          !bson_iter_find_descendant(&iter, ("cursor.firstBatch.0." + name).c_str(), &value)) {
        shown = "missing";
        return;
      }
      const mongodb::Doc doc = mongodb::Doc::Of("", *bson_iter_value(&value));
      char* const json = bson_as_relaxed_extended_json(doc.get(), nullptr);
      shown = json;
      bson_free(json);
    });
    return shown;
  }

  Database database_{SetUri()};
  Client things_{OpenMongodbStore(database_.uri())};
  const Key key_{"a"};
};

TEST_F(MongoShares, LeaveNothingInTheDocumentButTheVersion) {
  const Uuid first = NewUuid(), second = NewUuid();
  things_.Share(key_, first, 2, Counted(1));
  things_.Share(key_, second, 2);
  EXPECT_EQ(Field("lockReaders.1.ttl"), R"({ "" : 30000 })");
  AcquireOp writer = things_.AcquireOf(key_);
  things_.Execute(writer);
  EXPECT_EQ(writer.status, OpStatus::kBusy);
  EXPECT_EQ(things_.ReleaseShare(key_, first).status, OpStatus::kDone);
  EXPECT_EQ(things_.ReleaseShare(key_, second).status, OpStatus::kDone);
  EXPECT_EQ(Field("lockReaders"), "missing");
  things_.Execute(writer);
  EXPECT_EQ(writer.status, OpStatus::kDone) << Why(writer);
}

/// Collects hints about one document.
class Hints {
 public:
  explicit Hints(const Key& key) : hash_(key.Hash()) {}
  HintListener Sink() {
    return [this](const LockHint& hint) {
      const std::lock_guard guard(mutex_);
      ready_ = ready_ || !hint.hash;
      if (hint.hash == hash_) ++hints_;
      changed_.notify_all();
    };
  }
  /// The stream stands.
  bool AwaitReady() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 5min, [&] { return ready_; });
  }
  bool Await(int hints) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 5min, [&] { return hints_ >= hints; });
  }
  int count() {
    const std::lock_guard guard(mutex_);
    return hints_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t hash_;
  bool ready_ = false;
  int hints_ = 0;
};

TEST_F(MongoShares, ReleasesWakeAndGrantsAndRenewalsDoNot) {
  const Uuid first = NewUuid(), second = NewUuid(), third = NewUuid();
  things_.Share(key_, first, 3, Counted(1));
  Hints hints(key_);
  const auto watch = things_.store().Watch(things_.collection(), hints.Sink());
  ASSERT_TRUE(hints.AwaitReady());
  things_.Share(key_, second, 3);
  things_.Share(key_, third, 3);
  for (int i = 0; i < 3; ++i) {
    for (const Uuid& id : {first, second, third}) {
      EXPECT_EQ(things_.RenewShare(key_, id).status, OpStatus::kDone);
    }
  }
  int released = 0;
  for (const Uuid& id : {second, third, first}) {
    EXPECT_EQ(things_.ReleaseShare(key_, id).status, OpStatus::kDone);
    // Events come in the order of the writes.
    ASSERT_TRUE(hints.Await(++released)) << "one of three, of two, the last";
    EXPECT_EQ(hints.count(), released);
  }
}

TEST_F(MongoShares, EightProcessesAreNeverMoreThanThree) {
  const test::TempFolder folder;
  std::list<test::Child> children;
  for (int i = 0; i < 8; ++i) {
    children.emplace_back(
        std::vector<std::string>{"crowd", database_.uri(), "a", "3", "30", folder / "heads"});
  }
  for (test::Child& child : children) ASSERT_EQ(child.Line(), "ready");
  for (test::Child& child : children) child.Say("go");
  int most = 0;
  for (test::Child& child : children) most = std::max(most, std::stoi(child.Line().value_or("99")));
  EXPECT_EQ(most, 3) << "the limit, and it was reached";
}

}  // namespace
}  // namespace doclock::mongo_test
