#include <tuple>

#include "checks.h"

namespace doclock::conformance {
namespace {

/// Threads that want the same. None of these ends by a clock.
class Exclusion : public ::testing::TestWithParam<std::tuple<StoreKind, ExclusionCheck>> {
 protected:
  void SetUp() override {
    if (check_.queues && !backend_.store->traits().queues) {
      GTEST_SKIP() << "this store keeps no queue";
    }
  }
  void Add(const std::shared_ptr<Store>& store, int clients) {
    for (int i = 0; i < clients; ++i) clients_.emplace_back(store);
  }

  const ExclusionCheck check_ = std::get<1>(GetParam());
  const Backend backend_ = std::get<0>(GetParam()).make();
  std::vector<Client> clients_;
};

TEST_P(Exclusion, OfThreads) {
  Add(backend_.store, 4);
  EXPECT_EQ(check_.run(clients_), "");
}

TEST_P(Exclusion, OfThreadsOfTwoStores) {
  if (!backend_.open_another) GTEST_SKIP() << "this store belongs to one process";
  const std::shared_ptr<Store> other = backend_.open_another();
  for (const auto& store : {backend_.store, other}) Add(store, 2);
  EXPECT_EQ(check_.run(clients_), "");
}

INSTANTIATE_TEST_SUITE_P(Stores, Exclusion,
                         ::testing::Combine(::testing::ValuesIn(AllStores()),
                                            ::testing::ValuesIn(kExclusionChecks)),
                         [](const auto& both) {
                           return std::get<0>(both.param).name + "_" +
                                  std::string(std::get<1>(both.param).name);
                         });

}  // namespace
}  // namespace doclock::conformance
