#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "doclock/doclock.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/support/pooler.h"
#include "postgresql/support/proxy.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using Documents = LockingRepository<nlohmann::json>;

/// A server that was a copy of another one when it was made. It is removed at the end.
class Standby {
 public:
  Standby(int number, const std::string& primary_url)
      : port_(std::stoi(DOCLOCK_POSTGRESQL_FAILOVER_PORT) + number),
        environment_("DOCLOCK_POSTGRESQL_HOME=" DOCLOCK_POSTGRESQL_HOME "_standby" +
                     std::to_string(number) + " DOCLOCK_POSTGRESQL_PORT=" + std::to_string(port_) +
                     " DOCLOCK_POSTGRESQL_PRIMARY=" + primary_url + " ") {
    Run("standby --fresh");
  }
  Standby(const Standby&) = delete;
  Standby& operator=(const Standby&) = delete;
  ~Standby() { Run("stop"); }
  void Promote() { Run("promote"); }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url() const {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres";
  }

 private:
  void Run(const std::string& command) {
    const std::string line =
        environment_ + DOCLOCK_POSTGRESQL_SCRIPT " " + command + " > /dev/null";
    EXPECT_EQ(std::system(line.c_str()), 0);
  }

  const int port_;
  const std::string environment_;
};

std::int64_t FenceOf(const Documents& documents, const Key& key) {
  auto held = documents.Lock({key, nlohmann::json::object()});
  held.Release();
  return held.fence();
}

/// The highest of those that were granted.
std::int64_t LockOften(const Documents& documents, const Key& key) {
  for (int i = 0; i < 20; ++i) FenceOf(documents, key);
  return FenceOf(documents, key);
}

TEST(PostgresqlPromotion, FencesRiseAboveThoseThatAStandbyLacks) {
  Schema schema;
  const std::string rest = schema.url().substr(schema.url().find('?'));
  const auto store_of = [&](const std::string& url) { return OpenPostgresqlStore(url + rest); };
  const LockManager before{store_of(ServerUrl())};
  const Documents old(before, "orders");
  const std::int64_t first = FenceOf(old, "a");
  EXPECT_LT(first, 10);
  auto held = old.Lock({"held", nlohmann::json::object()});

  Standby one(1, ServerUrl());
  const std::int64_t lost = LockOften(old, "a");
  const std::int64_t created = LockOften(old, "b");
  try {
    store_of(one.url());
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
    EXPECT_NE(std::string(error.what()).find("standby"), std::string::npos) << error.what();
  }
  one.Promote();
  Standby two(2, one.url());  // which lacks even that a promotion was noticed

  const LockManager after{store_of(one.url())};
  const Documents now(after, "orders");
  const std::int64_t higher = LockOften(now, "a");
  EXPECT_GT(higher, lost);
  EXPECT_GT(FenceOf(now, "b"), created);
  const LockManager other{store_of(one.url())};
  EXPECT_EQ(FenceOf(Documents(other, "orders"), "a"), higher + 2);  // one more epoch is not begun
  // A lock that was replicated is its holder's still.
  const auto things = after.store()->Open("orders", {}, std::chrono::seconds(30));
  const Key key("held");
  WriteOp release(*things, key);
  release.request.lock_id = held.lock_id();
  StoreOp* const only = &release;
  after.store()->Execute({&only, 1}, std::chrono::seconds(10));
  EXPECT_EQ(release.status, OpStatus::kDone);
  EXPECT_GT(release.result.version, lost);

  two.Promote();
  const LockManager again{store_of(two.url())};
  EXPECT_GT(FenceOf(Documents(again, "orders"), "a"), higher);
}

/// The same once the way to the server is open.
std::int64_t NextFenceOf(const Documents& documents, const Key& key) {
  for (int left = 100;; --left) {
    try {
      return FenceOf(documents, key);
    } catch (const StoreException&) {
      if (left == 0) throw;
    }
  }
}

/// Neither knows of the other, and both have the same timeline. A pooler keeps its clients'
/// connections.
TEST(PostgresqlPromotion, FencesRiseAboveThoseOfAnotherStandbyThatWasPromotedBefore) {
  Schema schema;
  const std::string rest = schema.url().substr(schema.url().find('?'));
  const LockManager before{OpenPostgresqlStore(ServerUrl() + rest)};
  FenceOf(Documents(before, "orders"), "a");
  Standby one(3, ServerUrl()), two(4, ServerUrl());
  one.Promote();
  two.Promote();
  Proxy proxy(one.port());
  std::optional<Pooler> pooler;
  std::optional<LockManager> behind;
  if (Pooler::IsInstalled()) {
    pooler.emplace("transaction", schema.name(), proxy.port());
    behind.emplace(OpenPostgresqlStore(pooler->url()));
  }
  std::int64_t highest = 0;
  for (const Standby* const next : {&one, &two}) {
    if (behind) {
      proxy.LeadTo(next->port());
      EXPECT_GT(NextFenceOf(Documents(*behind, "orders"), "a"), highest);
    }
    const LockManager manager{OpenPostgresqlStore(next->url() + rest)};
    const Documents documents(manager, "orders");
    EXPECT_GT(FenceOf(documents, "a"), highest);
    highest = LockOften(documents, "a");
  }
}

TEST(PostgresqlPromotion, AnOldPrimaryThatComesBackDoesNotHideTheNewOne) {
  Schema schema;
  const std::string url = ServerUrl(), rest = schema.url().substr(schema.url().find('?'));
  const LockManager before{OpenPostgresqlStore(url + rest)};
  FenceOf(Documents(before, "orders"), "a");
  Standby standby(5, url);
  standby.Promote();

  Proxy old(0);
  const std::string hosts = "postgresql://postgres@127.0.0.1:" + std::to_string(old.port()) +
                            ",127.0.0.1:" + std::to_string(standby.port()) + "/postgres";
  const LockManager manager{OpenPostgresqlStore(hosts + rest)};
  const Documents documents(manager, "orders");
  const std::int64_t fence = FenceOf(documents, "a");
  old.LeadTo(std::stoi(DOCLOCK_POSTGRESQL_PORT));
  RawServer(standby.url())
      .Run(
          "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
          " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
  EXPECT_EQ(FenceOf(documents, "a"), fence + 2);
}

/// As a dump of another server brings it, where the tables were in between.
TEST(PostgresqlPromotion, FencesRiseAboveThoseOfAServerThatTheTablesComeBackFrom) {
  Schema schema;
  const auto fence = [&] {
    const LockManager manager{OpenPostgresqlStore(schema.url())};
    return FenceOf(Documents(manager, "orders"), "a");
  };
  EXPECT_LT(fence(), 10);
  for (const std::int64_t theirs : {std::int64_t{1} << 20, std::int64_t{1} << 50}) {
    schema.raw().Run("INSERT INTO doclock_meta VALUES ('epoch of 1/1', '" + std::to_string(theirs) +
                     "') ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value");
    const std::int64_t first = fence();
    EXPECT_GT(first, theirs << 7);
    EXPECT_EQ(fence(), first + 2);
  }
}

}  // namespace
}  // namespace doclock::postgresql_test
