#include "postgresql/admin/examine.h"

#include <gmock/gmock.h>
#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "conformance/suite/store_conformance.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/client/pool.h"
#include "postgresql/support/pooler.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using namespace std::chrono_literals;
using conformance::kTtl;
using postgresql::Facts;
using ::testing::HasSubstr;

/// What was found of one thing; one without a text if nothing was.
Finding Of(const std::string& check, const std::vector<Finding>& all) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Finding& one) { return one.check == check; });
  return found == all.end() ? Finding{} : *found;
}

/// Facts of a server that needs no mending.
Facts Well() {
  Facts facts;
  facts.version = "15.18";
  facts.synchronous_commit = "on";
  facts.rows = {7, 3};
  return facts;
}

void ExpectAdvice(const Facts& facts, const std::string& check, FindingLevel level,
                  const std::string& text) {
  const Finding found = Of(check, postgresql::Judge(facts));
  EXPECT_EQ(found.level, level) << check;
  EXPECT_THAT(found.text, HasSubstr(text));
  EXPECT_NE(found.advice, "");
}

TEST(PostgresqlFacts, FindNothingWrongWithAServerThatIsWell) {
  for (const Finding& found : postgresql::Judge(Well())) {
    EXPECT_EQ(found.level, FindingLevel::kOk) << found.check << found.text;
    EXPECT_EQ(found.advice, "");
  }
}

TEST(PostgresqlFacts, TellWhatIsToBeMended) {
  Facts facts = Well();
  facts.unsafe = "fsync";
  facts.followers = 2;
  facts.has_pooler = facts.shares_sessions = true;
  facts.knows_epoch = false;
  facts.open_for = 90s;
  facts.lacking = 3;
  facts.lacks = "UPDATE on doclock_c_things";
  facts.filtered = "doclock_c_things";
  facts.rows = {1, 20'000};
  ExpectAdvice(facts, "durability", FindingLevel::kWarning, "without fsync");
  ExpectAdvice(facts, "standbys", FindingLevel::kWarning, "no commit waits");
  ExpectAdvice(facts, "pooler", FindingLevel::kWarning, "each transaction another session");
  ExpectAdvice(facts, "epoch", FindingLevel::kWarning, "not known");
  ExpectAdvice(facts, "transactions", FindingLevel::kWarning, "90 s");
  ExpectAdvice(facts, "privileges", FindingLevel::kProblem,
               "UPDATE on doclock_c_things, and more: 2");
  ExpectAdvice(facts, "row security", FindingLevel::kProblem, "doclock_c_things");
  ExpectAdvice(facts, "dead rows", FindingLevel::kWarning, "20000 dead");
}

TEST(PostgresqlFacts, TellThatNoCollectionCanBeMade) {
  Facts facts = Well();
  facts.creates = facts.has_table = false;
  ExpectAdvice(facts, "privileges", FindingLevel::kProblem, "may create no table in the schema");
}

TEST(PostgresqlFacts, TellWhatTheSessionsSetOtherwise) {
  Facts facts = Well();
  facts.synchronous_commit = "local";
  facts.creates = false;
  const auto findings = postgresql::Judge(facts);
  EXPECT_EQ(Of("durability", findings).text,
            "synchronous_commit is on, although the user's default is local");
  EXPECT_THAT(Of("privileges", findings).text, HasSubstr("create no table"));
  facts.synchronous_commit = "remote_apply";
  EXPECT_EQ(Of("durability", postgresql::Judge(facts)).text, "synchronous_commit is remote_apply");
}

class PostgresqlExamine : public ::testing::Test {
 protected:
  Facts Read(const std::string& url, const postgresql::PostgresqlCollection* collection) {
    postgresql::Pool pool(postgresql::ParseUrl(url));
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    return postgresql::ReadFacts(*pool.Take(deadline), name_, collection, deadline);
  }

  Schema schema_;
  const std::string name_ = schema_.raw().Run("SELECT current_schema()");
  const std::shared_ptr<Store> store_ = OpenPostgresqlStore(schema_.url());
  const std::shared_ptr<Collection> things_ = store_->Open("things", {}, kTtl);
};

TEST_F(PostgresqlExamine, LooksAtTheServerAndTheCollection) {
  const std::vector<Finding> findings = store_->Examine(things_.get(), 10s);
  EXPECT_THAT(Of("server", findings).text, HasSubstr("PostgreSQL "));
  EXPECT_THAT(Of("schema", findings).text, HasSubstr(name_));
  EXPECT_EQ(Of("pooler", findings).level, FindingLevel::kOk);
  EXPECT_EQ(Of("privileges", findings).text, "the user may do all that locks need");
  EXPECT_THAT(Of("dead rows", findings).text, HasSubstr("0 dead rows"));
  EXPECT_EQ(Of("dead rows", store_->Examine(nullptr, 10s)).text, "");
}

TEST_F(PostgresqlExamine, SeesTheTransactionThatKeepsDeadRows) {
  RawServer other(schema_.url());
  other.Run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(0.001)");
  EXPECT_TRUE(Read(schema_.url(), nullptr).open_for.has_value());
}

TEST_F(PostgresqlExamine, TakesABackupForNoStandby) {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> backup(
      PQconnectdb((schema_.url() + "&replication=true").c_str()), PQfinish);
  ASSERT_EQ(PQsendQuery(backup.get(), "BASE_BACKUP"), 1);
  while (schema_.raw().Run("SELECT count(*) FROM pg_stat_replication WHERE state = 'backup'"
                           " AND pid = " +
                           std::to_string(PQbackendPID(backup.get()))) == "0") {
    ASSERT_EQ(PQstatus(backup.get()), CONNECTION_OK);
    std::this_thread::yield();
  }
  EXPECT_EQ(Read(schema_.url(), nullptr).followers, 0);
}

/// A user that may take locks, and whose fences do not rise when a standby is promoted.
TEST_F(PostgresqlExamine, TellsThatTheEpochIsNotKnown) {
  static_cast<void>(store_->ListCollections(10s));  // a call like any other keeps it
  EXPECT_EQ(Of("epoch", store_->Examine(nullptr, 10s)).level, FindingLevel::kOk);
  const std::string user = "user_of_" + name_;
  schema_.raw().Run("CREATE ROLE " + user + " LOGIN; GRANT USAGE ON SCHEMA " + name_ + " TO " +
                    user + "; GRANT SELECT ON ALL TABLES IN SCHEMA " + name_ + " TO " + user);
  const std::string url = schema_.url() + "&user=" + user;
  EXPECT_TRUE(Read(url, nullptr).knows_epoch);
  schema_.raw().Run("DELETE FROM doclock_meta WHERE name LIKE 'epoch of %'");
  EXPECT_FALSE(Read(url, nullptr).knows_epoch) << "the user cannot keep it";
  EXPECT_EQ(Of("epoch", store_->Examine(nullptr, 10s)).level, FindingLevel::kOk);
  EXPECT_EQ(schema_.raw().Run("SELECT count(*) FROM doclock_meta WHERE name LIKE 'epoch of %'"),
            "0")
      << "an examination wrote it";
  schema_.raw().Run("DROP TABLE doclock_meta");
  EXPECT_FALSE(Read(schema_.url(), nullptr).knows_epoch);
  schema_.raw().Run("DROP OWNED BY " + user + "; DROP ROLE " + user);
}

TEST_F(PostgresqlExamine, NamesThePrivilegesThatAUserLacks) {
  const std::string user = "user_of_" + name_;
  schema_.raw().Run("CREATE ROLE " + user + " LOGIN; GRANT USAGE ON SCHEMA " + name_ + " TO " +
                    user + "; GRANT SELECT ON doclock_c_things TO " + user +
                    "; ALTER TABLE doclock_c_things ENABLE ROW LEVEL SECURITY");
  const std::string url = schema_.url() + "&user=" + user;
  store_->Open("others", {}, kTtl);
  EXPECT_EQ(Read(url, nullptr).lacking, 9);
  const Facts facts =
      Read(url, static_cast<const postgresql::PostgresqlCollection*>(things_.get()));
  EXPECT_EQ(facts.lacking, 5) << "the tables of other collections do not count";
  EXPECT_EQ(facts.lacks, "DELETE on doclock_c_things");
  EXPECT_FALSE(facts.creates);
  EXPECT_EQ(facts.filtered, "doclock_c_things");
  const std::shared_ptr<Store> store = OpenPostgresqlStore(url);
  EXPECT_TRUE(store->ListCollections(10s).empty());
  EXPECT_EQ(Of("privileges", store->Examine(nullptr, 10s)).level, FindingLevel::kProblem);
  EXPECT_THROW(store->Open("things", {}, kTtl), StoreException);
  schema_.raw().Run("GRANT SELECT, INSERT ON doclock_meta TO " + user);
  Collection missing("missing", {}, kTtl);
  EXPECT_THAT(Of("privileges", store->Examine(&missing, 10s)).text,
              HasSubstr("may create no table"));
  schema_.raw().Run("DROP OWNED BY " + user + "; DROP ROLE " + user);
}

}  // namespace
}  // namespace doclock::postgresql_test
