#include <atomic>
#include <thread>
#include <vector>

#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class LeaseTest : public EngineTest {};

TEST_F(LeaseTest, ManyLeasesAreRenewedInFewCalls) {
  std::vector<Grant> held;
  for (int i = 0; i < 5000; ++i) held.push_back(Lock(i, {.ttl = 10s}));
  store->Reset();
  clock->Advance(3500ms);
  EXPECT_EQ(store->Count(OpKind::kRenew), 5000);
  EXPECT_LE(store->Calls(), 6);
  for (auto& grant : held) grant.lease = nullptr;  // let the leases be
}

TEST_F(LeaseTest, ARoundThatHasNothingLeftToRenewIsNotSent) {
  store->lanes = 1;  // one round at a time
  const Grant first = Lock("a", {.ttl = 10s});
  clock->Advance(1500ms);
  Grant second = Lock("b", {.ttl = 10s});
  int empty = 0;
  int renewals = 0;
  store->before_reply = [&](std::span<StoreOp* const> ops) {
    if (ops.empty()) {
      ++empty;
    } else if (ops.front()->kind == OpKind::kRenew) {
      ++renewals;
    }
  };
  clock->DelayWork(4s);
  clock->Advance(4s);  // the round of the first is under way, that of the second waits
  EXPECT_EQ(renewals, 0);
  EXPECT_FALSE(ReleaseWith(second, {{"n", 1}}));
  clock->DelayWork(0s);
  clock->Advance(3s);
  EXPECT_GT(renewals, 0);
  EXPECT_EQ(empty, 0);
  store->before_reply = nullptr;
}

/// A store of eight lanes that remembers how many calls with renewals ran at once.
class RenewalCounter final : public FaultyStore {
 public:
  RenewalCounter() : FaultyStore(OpenMemoryStore()) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    return {.lanes = 8, .max_batch = 16, .immediate = false};
  }
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    if (ops.front()->kind != OpKind::kRenew) return FaultyStore::Execute(ops, budget);
    const int inside = ++inside_;
    int most = most_;
    while (inside > most && !most_.compare_exchange_weak(most, inside)) continue;
    std::this_thread::sleep_for(10ms);  // until all that may come have come
    FaultyStore::Execute(ops, budget);
    renewed_ += ops.size();
    --inside_;
  }
  [[nodiscard]] int most() const noexcept { return most_; }
  [[nodiscard]] std::size_t renewed() const noexcept { return renewed_; }

 private:
  std::atomic<int> inside_ = 0;
  std::atomic<int> most_ = 0;
  std::atomic<std::size_t> renewed_ = 0;
};

TEST(RenewalLanesTest, ManyRenewalsLeaveMostLanesToCallers) {
  constexpr int kHeld = 6000;
  const auto store = std::make_shared<RenewalCounter>();
  LockManager manager{store};
  const auto collection = store->Open("orders", {}, 30s);
  std::vector<Grant> held;
  for (int i = 0; i < kHeld; ++i) {
    AcquireSpec spec = MakeSpec(manager.engine(), *collection, {.ttl = 2s}, 30s);
    spec.key = Key(i);
    spec.insert = Body::FromJson({{"n", 0}});
    held.push_back(Acquire(manager.engine(), std::move(spec), {}).grant);
  }
  while (store->renewed() < kHeld) std::this_thread::sleep_for(5ms);
  EXPECT_LE(store->most(), 2);
  for (const Grant& grant : held) EXPECT_FALSE(grant.lease->lost());
}

}  // namespace
}  // namespace doclock::detail
