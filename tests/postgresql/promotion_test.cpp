#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "doclock/doclock.h"
#include "doclock/postgresql_store.h"
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
  [[nodiscard]] std::string url() const {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres";
  }

 private:
  void Run(const std::string& command) {
    EXPECT_EQ(std::system((environment_ + DOCLOCK_POSTGRESQL_SCRIPT " " + command).c_str()), 0);
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
  release.lock_id = held.lock_id();
  StoreOp* const only = &release;
  after.store()->Execute({&only, 1}, std::chrono::seconds(10));
  EXPECT_EQ(release.status, OpStatus::kDone);
  EXPECT_GT(release.version, lost);

  two.Promote();
  const LockManager again{store_of(two.url())};
  EXPECT_GT(FenceOf(Documents(again, "orders"), "a"), higher);
}

}  // namespace
}  // namespace doclock::postgresql_test
