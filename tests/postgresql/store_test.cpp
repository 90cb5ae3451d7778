#include "doclock/postgresql_store.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "conformance/suite/store_conformance.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using conformance::Client;
using conformance::kTtl;
using conformance::MakeBody;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class PostgresqlStore : public ::testing::Test {
 protected:
  std::shared_ptr<Store> Open() { return OpenPostgresqlStore(schema_.url()); }
  static Client Things(Store& store, const std::string& name = "things") {
    return {store, store.Open(name, {}, kTtl)};
  }

  Schema schema_;
  const std::shared_ptr<Store> store_ = Open();
};

SaveOp Insert(Collection& collection, const Key& key) {
  SaveOp op(collection, key);
  op.save = SaveKind::kInsert;
  op.write_id = NewUuid();
  op.body = MakeBody({{"n", 1}});
  return op;
}

TEST_F(PostgresqlStore, ABatchWaitsForNoRowOfOthers) {
  Client things = Things(*store_);
  const Key kept("kept"), free("free"), fresh("fresh");
  things.Insert(kept, {});
  things.Insert(free, {});
  RawServer other(schema_.url());
  other.Run("BEGIN; SELECT 1 FROM doclock_c_things WHERE key_text = 'kept' FOR UPDATE");
  AcquireOp first(things.collection(), kept), second(things.collection(), free);
  first.grant.lock_id = NewUuid();
  second.grant.lock_id = NewUuid();
  first.grant.ttl = second.grant.ttl = kTtl;
  SaveOp third = Insert(things.collection(), fresh);
  StoreOp* const batch[] = {&first, &second, &third};
  store_->Execute(batch, std::chrono::milliseconds(500));
  EXPECT_EQ(second.status, OpStatus::kDone);
  EXPECT_EQ(third.status, OpStatus::kDone);
  ASSERT_EQ(first.status, OpStatus::kFailed);
  EXPECT_EQ(first.detail->code, Errc::kUnavailable);
  other.Run("ROLLBACK");
  EXPECT_EQ(things.Acquire(kept).status, OpStatus::kDone);
}

TEST_F(PostgresqlStore, TellsTheOtherStoreWhoseWaiterWasGrantedTheLock) {
  const std::shared_ptr<Store> other = Open();
  Client here = Things(*store_), there = Things(*other);
  const Key key("42");
  std::atomic<bool> listens = false, granted = false;
  const auto subscription = other->Watch(there.collection(), [&](const LockHint& hint) {
    (hint.hash == key.Hash() ? granted : listens) = true;
  });
  while (!listens) std::this_thread::yield();  // it says that anything may have happened before
  const AcquireOp grant = here.Create(key);
  const AcquireOp waiter = there.Acquire(key, {.queue_for = kTtl});
  ASSERT_TRUE(waiter.queued);
  here.Release(key, grant);
  while (!granted) std::this_thread::yield();
  EXPECT_TRUE(there.Acquire(key, {.id = waiter.grant.lock_id, .queue_for = kTtl}).passed_on);
}

TEST_F(PostgresqlStore, IsRefusedInAForkedChildAndGoesOnInTheParent) {
  Client things = Things(*store_);
  things.Insert("42", {});
  const pid_t child = ::fork();
  if (child == 0) {
    const ReadOp read = things.Read("42");
    ::_exit(read.status == OpStatus::kFailed && read.detail->code == Errc::kForked ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(things.Read("42").status, OpStatus::kDone);
}

TEST_F(PostgresqlStore, RefusesATableOfAnotherProgramByItsName) {
  schema_.raw().Run("CREATE TABLE doclock_c_things(id int)");
  try {
    Things(*store_);
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
    EXPECT_THAT(error.what(), HasSubstr("doclock_c_things"));
  }
}

TEST_F(PostgresqlStore, RefusesTablesOfAnotherVersion) {
  Things(*store_);
  schema_.raw().Run("UPDATE doclock_meta SET value = '2' WHERE name = 'schema'");
  EXPECT_THROW(Things(*Open()), StoreException);
}

TEST_F(PostgresqlStore, LongNamesHaveTablesOfTheirOwn) {
  const std::string name(63, 'n');
  Client one = Things(*store_, name + "1"), two = Things(*store_, name + "2");
  one.Insert("42", {});
  EXPECT_EQ(two.Read("42").status, OpStatus::kMissing);
  EXPECT_EQ(Things(*Open(), name + "1").Read("42").status, OpStatus::kDone);
}

TEST_F(PostgresqlStore, ListsTheCollectionsThatHaveATable) {
  EXPECT_THAT(store_->ListCollections(10s), IsEmpty());
  const std::string name(64, 'n');
  for (const std::string& one : {std::string("things"), name, std::string("others")}) {
    Things(*store_, one);
  }
  EXPECT_THAT(Open()->ListCollections(10s), UnorderedElementsAre("things", "others", name));
  schema_.raw().Run("DROP TABLE doclock_c_others; CREATE TABLE doclock_c_foreign()");
  EXPECT_THAT(store_->ListCollections(10s), UnorderedElementsAre("things", name));
}

TEST_F(PostgresqlStore, NamesTheUsersOwnUniqueIndex) {
  Client things = Things(*store_);
  schema_.raw().Run("CREATE UNIQUE INDEX one_n ON doclock_c_things((body -> 'n'))");
  EXPECT_EQ(things.Insert("1", {{"n", 1}}).status, OpStatus::kDone);
  const SaveOp second = things.Insert("2", {{"n", 1}});
  ASSERT_EQ(second.status, OpStatus::kConflict);
  EXPECT_EQ(second.detail->index, "one_n");
}

TEST_F(PostgresqlStore, RowsCanBeReadAndFencedInSql) {
  Client things = Things(*store_);
  const AcquireOp grant = things.Create("42", {{"n", 7}}, {.owner = "ann"});
  EXPECT_EQ(schema_.raw().Run("SELECT body ->> 'n' || ' ' || (lock_owner ->> 'name') FROM"
                              " doclock_c_things WHERE key_text = '42' AND lock_version = " +
                              std::to_string(grant.version) + " AND lock_id IS NOT NULL FOR SHARE"),
            "7 ann");
}

TEST_F(PostgresqlStore, ATransactionInSqlCanAskWhetherAFenceStillHolds) {
  Client things = Things(*store_);
  const AcquireOp grant = things.Create("42");
  const auto holds = [&] {
    return schema_.raw().Run(
        "WITH held AS (SELECT 1 FROM doclock_c_things WHERE (key_kind, key_number, key_text) ="
        " (0, 0, '42') AND lock_id IS NOT NULL AND lock_fence = " +
        std::to_string(grant.version) + " FOR SHARE) SELECT count(*) FROM held");
  };
  EXPECT_EQ(holds(), "1");
  const WriteOp save = things.Write("42", WriteKind::kCheckpoint, grant.grant.lock_id,
                                    {.expected = grant.version, .body = MakeBody({{"n", 2}})});
  EXPECT_EQ(holds(), "1");
  things.Release("42", grant.grant.lock_id);
  EXPECT_EQ(holds(), "0");
  EXPECT_GT(things.Acquire("42").version, save.version);
  EXPECT_EQ(holds(), "0");
}

TEST(PostgresqlOpening, OfAServerThatIsNotThereTellsNoSecret) {
  try {
    OpenPostgresqlStore("postgresql://me:secret@127.0.0.1:1/orders");
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kUnavailable);
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace doclock::postgresql_test
