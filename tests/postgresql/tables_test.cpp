#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>

#include "conformance/suite/store_conformance.h"
#include "doclock/stores/postgresql.h"
#include "doclock/time.h"
#include "postgresql/client/pool.h"
#include "postgresql/query/search.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using conformance::Client;
using conformance::kTtl;
using conformance::MakeBody;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// A text that cannot be compressed much.
std::string RandomText(std::size_t size) {
  std::mt19937 random;
  std::string text;
  while (text.size() < size) text += static_cast<char>('a' + random() % 26);
  return text;
}

/// Tables that another program made or changed.
class PostgresqlStoreTables : public ::testing::Test {
 protected:
  Client Things() { return Client(store_); }
  /// Makes the table of `things`, and changes it.
  void Make(const std::string& changes) {
    schema_.raw().Run(
        "SET client_min_messages = warning; DROP TABLE IF EXISTS doclock_c_things, others;" +
        PostgresqlTables("things") + changes);
  }
  /// A trigger on each write of these kinds, whose function returns nothing.
  void AddTrigger(const std::string& kinds) {
    schema_.raw().Run(
        "CREATE OR REPLACE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN"
        " NULL; END'; CREATE TRIGGER keeps BEFORE " +
        kinds + " ON doclock_c_things FOR EACH ROW EXECUTE FUNCTION nothing()");
  }
  /// The server's plan of a statement, behind another one in the same session.
  std::string Explain(const std::string& before, const std::string& sql,
                      const postgresql::Parameters& parameters) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    postgresql::Pool pool(postgresql::ParseUrl(schema_.url()));
    const auto connection = pool.Take(deadline);
    connection->Command(before);
    connection->SendOnce("EXPLAIN ANALYZE " + sql, parameters);
    std::string lines;
    const auto results = connection->Run(deadline);
    for (int row = 0; row < results.back().size(); ++row) lines += results.back().Text(row, 0);
    return lines;
  }
  void DropTrigger() { schema_.raw().Run("DROP TRIGGER keeps ON doclock_c_things"); }

  Schema schema_;
  const std::shared_ptr<Store> store_ = OpenPostgresqlStore(schema_.url());
};

void ExpectRefusedForATrigger(const StoreOp& op) {
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kRefused);
  EXPECT_THAT(op.detail->message, HasSubstr("trigger"));
}

TEST_F(PostgresqlStoreTables, WithATriggerThatKeepsRowsFromBeingWrittenReportNoWrite) {
  Client things = Things();
  things.Insert("42", {{"n", 1}});
  AddTrigger("INSERT OR UPDATE OR DELETE");
  ExpectRefusedForATrigger(things.Acquire("42"));
  ExpectRefusedForATrigger(things.Insert("43", {}));
  DropTrigger();
  const AcquireOp grant = things.Acquire("42");
  ASSERT_EQ(grant.status, OpStatus::kDone);
  AddTrigger("UPDATE OR DELETE");
  ExpectRefusedForATrigger(things.Renew("42", grant.request.grant.lock_id));
  ExpectRefusedForATrigger(things.Write("42", WriteKind::kErase, grant.request.grant.lock_id));
  ExpectRefusedForATrigger(things.Release("42", grant.request.grant.lock_id));
  EXPECT_EQ(things.Read("42").result.lock_id, grant.request.grant.lock_id);
}

TEST_F(PostgresqlStoreTables, WithATriggerFailOnlyTheOperationsItRefuses) {
  Client things = Things();
  things.Insert("42", {{"n", 1}});
  AddTrigger("UPDATE");
  const Key kept("42"), free("43");
  AcquireOp refused = things.AcquireOf(kept, {.insert = MakeBody({})});
  AcquireOp fresh = things.AcquireOf(free, {.insert = MakeBody({})});
  things.Execute({&refused, &fresh});
  ExpectRefusedForATrigger(refused);
  EXPECT_EQ(fresh.status, OpStatus::kDone);
}

/// Only one warning of a commit counts: that it did not wait for the standbys.
TEST_F(PostgresqlStoreTables, WithATriggerThatWarnsKeepLocks) {
  Client things = Things();
  schema_.raw().Run(
      "CREATE FUNCTION warns() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''w'';"
      " RETURN NEW; END'; CREATE TRIGGER warns BEFORE INSERT OR UPDATE ON doclock_c_things"
      " FOR EACH ROW EXECUTE FUNCTION warns()");
  const AcquireOp grant = things.Create("42");
  ASSERT_EQ(grant.status, OpStatus::kDone);
  EXPECT_EQ(things.Release("42", grant).status, OpStatus::kDone);
  EXPECT_EQ(things.Acquire("42").status, OpStatus::kDone);
}

TEST_F(PostgresqlStoreTables, KeepTextsThatAreTooLongForAnIndex) {
  Client things = Things();
  things.EnsureIndex({.fields = {"a", "b"}});
  const std::string text = RandomText(100'000);
  EXPECT_EQ(things.Insert("42", {{"a", text}, {"b", text}}).status, OpStatus::kDone);
  EXPECT_THAT(things.Query(Filter().Equal("a", text).Equal("b", text)), ElementsAre("42"));
  things.EnsureIndex({.fields = {"c"}, .unique = true});
  const SaveOp refused = things.Insert("43", {{"c", text}});
  ASSERT_EQ(refused.status, OpStatus::kFailed);
  EXPECT_EQ(refused.detail->code, Errc::kRefused);
  EXPECT_THAT(refused.detail->message, HasSubstr("too long for an index"));
}

TEST_F(PostgresqlStoreTables, AreSearchedByTheirIndexes) {
  Client things = Things();
  things.EnsureIndex({.fields = {"step"}});
  things.EnsureIndex({.fields = {"mail"}, .unique = true});
  const auto plan = [&](const Filter& filter) {
    const auto selects = sql::SelectsOf(filter, postgresql::PostgresqlDialect(filter));
    return Explain("SET enable_seqscan = off",
                   "SELECT FROM doclock_c_things WHERE " + selects.front().where,
                   postgresql::ParametersOf(selects.front().values));
  };
  EXPECT_THAT(plan(Filter().Equal("step", "paid")), HasSubstr("doclock_i_"));
  EXPECT_THAT(plan(Filter().AtLeast("step", 7)), HasSubstr("doclock_i_"));
  EXPECT_THAT(plan(Filter().Equal("step", Date(std::chrono::sys_seconds()))),
              HasSubstr("doclock_i_"));
  EXPECT_THAT(plan(Filter().Equal("mail", "a@b")), HasSubstr("doclock_u_"));
}

/// As the store reads them: by a cursor, of which the server expects that few are fetched.
TEST_F(PostgresqlStoreTables, AreSearchedByTheirIndexesForTheFewThatMeetAFilter) {
  Client things = Things();
  things.EnsureIndex({.fields = {"state", "n"}});
  things.EnsureIndex({.fields = {"n"}});
  things.EnsureIndex({.fields = {"mail"}, .unique = true});
  schema_.raw().Run(
      "INSERT INTO doclock_c_things(key_text, body) SELECT i, jsonb_build_object('n', i, 'mail', i,"
      " 'state', CASE WHEN i > 19900 THEN 'new' ELSE 'old' END) FROM generate_series(1, 20000) i;"
      " ANALYZE doclock_c_things");
  const auto plan = [&](const Filter& filter) {
    std::string plans;
    for (const auto& [ranks, overlaps, where, order, values] :
         sql::SelectsOf(filter, postgresql::PostgresqlDialect(filter))) {
      if (ranks.first > sql::Rank::kNumber) continue;
      plans += Explain("SET enable_seqscan = on",
                       "DECLARE c NO SCROLL CURSOR FOR SELECT FROM doclock_c_things WHERE " +
                           where + " ORDER BY " + order,
                       postgresql::ParametersOf(values));
    }
    EXPECT_THAT(plans, Not(HasSubstr("Removed by Filter"))) << plans;
    return plans;
  };
  EXPECT_THAT(plan(Filter().Equal("mail", 19'999)), HasSubstr("doclock_u_"));
  EXPECT_THAT(plan(Filter().Equal("mail", 19'999).OrderBy("n")), HasSubstr("doclock_u_"));
  EXPECT_THAT(plan(Filter().Equal("state", "new")), HasSubstr("doclock_i_"));
  EXPECT_THAT(plan(Filter().Equal("state", "new").OrderBy("n")), HasSubstr("doclock_i_"));
  EXPECT_THAT(plan(Filter().AtLeast("n", 19'990)), HasSubstr("doclock_i_"));
}

/// Of many documents it reads those that it shows, whatever their values are.
TEST_F(PostgresqlStoreTables, HaveTheOrderOfASearchInItsIndex) {
  Client things = Things();
  things.EnsureIndex({.fields = {"state", "n"}});
  schema_.raw().Run(
      "INSERT INTO doclock_c_things(key_text, body) SELECT i, jsonb_build_object('state', 'new',"
      " 'n', CASE i % 3 WHEN 0 THEN to_jsonb(7) WHEN 1 THEN to_jsonb(i) ELSE jsonb_build_object("
      "'$date', jsonb_build_object('$numberLong', i::text)) END) FROM generate_series(1, 3000) i;"
      " ANALYZE doclock_c_things");
  const Filter all = Filter().Equal("state", "new");
  for (const Filter& filter : {Filter(all).OrderBy("n"), Filter(all).Greater("n", 6).OrderBy("n"),
                               Filter(all).AtMost("n", Date::Now()).OrderBy("n")}) {
    for (const auto& [ranks, overlaps, where, order, values] :
         sql::SelectsOf(filter, postgresql::PostgresqlDialect(filter))) {
      if (!ranks.Have(sql::Rank::kNumber) && !ranks.Have(sql::Rank::kDate)) continue;
      const std::string plan =
          Explain("SET enable_seqscan = on",
                  "SELECT FROM doclock_c_things WHERE " + where + " ORDER BY " + order + " LIMIT 1",
                  postgresql::ParametersOf(values));
      EXPECT_THAT(plan, HasSubstr("doclock_i_"));
      EXPECT_THAT(plan, Not(HasSubstr("Sort"))) << plan;
      EXPECT_THAT(plan, Not(HasSubstr("Removed by Filter"))) << plan;
    }
  }
}

/// A program that writes, and is slow to commit.
TEST_F(PostgresqlStoreTables, AreIndexedWithoutKeepingWritersWaiting) {
  Client things = Things();
  RawServer slow(schema_.url());
  const auto begin = [&] { slow.Run("BEGIN; DELETE FROM doclock_c_things"); };
  begin();
  {
    const std::jthread indexing([&] { things.EnsureIndex({.fields = {"n"}}); });
    while (schema_.raw().Run("SELECT count(*) FROM pg_locks WHERE mode = 'ShareLock' AND NOT"
                             " granted AND relation = 'doclock_c_things'::regclass") == "0") {
      std::this_thread::yield();
    }
    EXPECT_EQ(things.Insert("42", {}).status, OpStatus::kDone);
    slow.Run("COMMIT");
  }
  begin();
  things.EnsureIndex({.fields = {"n"}});  // it is there: nothing waits
  EXPECT_EQ(things.Insert("43", {}).status, OpStatus::kDone);
  slow.Run("ROLLBACK");
}

TEST_F(PostgresqlStoreTables, OfACollectionWhoseNameEndsInAPointHaveIndexes) {
  Client things(store_, "things.");
  things.EnsureIndex({.fields = {"n"}});
  EXPECT_EQ(things.Insert("42", {{"n", 1}}).status, OpStatus::kDone);
}

TEST_F(PostgresqlStoreTables, AreNotIndexedBesideAnIndexThatIsNotValid) {
  Client things = Things();
  things.EnsureIndex({.fields = {"n"}});
  schema_.raw().Run(
      "UPDATE pg_index SET indisvalid = false WHERE indrelid = 'doclock_c_things'::regclass"
      " AND NOT indisprimary");
  EXPECT_THROW(things.EnsureIndex({.fields = {"n"}}), StoreException);
}

}  // namespace
}  // namespace doclock::postgresql_test
