#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conformance/suite/client.h"
#include "doclock/detail/engine.h"
#include "doclock/lock_manager.h"
#include "doclock/open_store.h"
#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"
#include "engine/engine.h"

namespace doclock::detail {

using namespace std::chrono_literals;
using testing::Fault;
using testing::FaultyStore;
using testing::ManualClock;

/// A memory store that can go wrong, and whose replies a test can hold up.
class TestStore : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;

  /// Runs when operations have had their effect, before their reply arrives.
  std::function<void(std::span<StoreOp* const>)> before_reply;
  int lanes = 0;                            ///< Not 0: of the store's traits.
  std::chrono::nanoseconds clock_margin{};  ///< Not 0: of the store's traits.

  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    FaultyStore::Execute(ops, budget);
    if (const auto hook = before_reply) hook(ops);
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override {
    FaultyStore::AcquireNext(filter, op, key, budget);
    StoreOp* const ops[] = {&op};
    if (const auto hook = before_reply) hook(ops);
  }
  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits = FaultyStore::traits();
    if (lanes != 0) traits.lanes = lanes;
    if (clock_margin != 0ns) traits.clock_margin = clock_margin;
    return traits;
  }
};

/// Why something was not done; empty if it was.
inline std::optional<Errc> CodeOf(const FailurePtr& failure) {
  return failure ? std::optional(failure->code) : std::nullopt;
}
inline std::optional<Errc> CodeOf(const auto& result) { return CodeOf(result.failure); }

/// A manager whose engine a test calls, over a store of the subclass.
class ManagerTest : public ::testing::Test {
 protected:
  EnginePtr engine() { return manager->engine(); }

  AcquireSpec Spec(const Key& key, LockOptions options = {}, bool upsert = true) {
    AcquireSpec spec = MakeSpec(engine(), *collection, options, 30s);
    spec.key = key;
    if (upsert) spec.insert = Body::FromJson({{"n", 0}});
    return spec;
  }

  Grant Lock(const Key& key, LockOptions options = {}) { return LockBy(*manager, key, options); }
  Grant LockBy(const LockManager& by, const Key& key, LockOptions options = {}) {
    AcquireResult result = Acquire(by.engine(), Spec(key, options), {});
    EXPECT_FALSE(result.failure) << (result.failure ? result.failure->message : "");
    return std::move(result.grant);
  }
  /// A release by its lock id alone, which merges the fields.
  ValueRelease ReleaseOf(const Grant& grant, const Body& fields = {}) {
    ValueRelease release;
    release.collection = collection;
    release.key = LeaseKey(*grant.lease);
    release.lock_id = LeaseLockId(*grant.lease);
    release.fields = fields;
    return release;
  }

  /// Null if it is done.
  FailurePtr Insert(const Key& key, nlohmann::json body) {
    SaveSpec spec;
    spec.collection = collection;
    spec.key = key;
    spec.save = SaveKind::kInsert;
    spec.body = Body::FromJson(std::move(body));
    return Save(engine(), std::move(spec)).failure;
  }

  std::optional<LockManager> manager;
  Collection* collection = nullptr;
};

/// The engine on one thread and virtual time, over a memory store that can go wrong.
class EngineTest : public ManagerTest {
 protected:
  explicit EngineTest(ManagerOptions options = {}) {
    options.runtime = runtime;
    manager.emplace(store, options);
    collection = store->Open("orders", {}, 30s).get();
  }
  /// The last calls of the manager may run hooks that use the clock and the store.
  ~EngineTest() override { manager.reset(); }

  std::optional<Errc> TryLock(const Key& key, LockOptions options = {}) {
    return CodeOf(Acquire(engine(), Spec(key, options), {}));
  }

  /// A lock wanted from another caller of this process; tells when it came.
  struct Waiting {
    std::optional<AcquireResult> result;
    AcquireHandle handle;
    [[nodiscard]] bool granted() const { return result && !result->failure; }
    [[nodiscard]] std::optional<Errc> code() const {
      return result ? CodeOf(*result) : std::nullopt;
    }
  };
  std::shared_ptr<Waiting> LockLater(const Key& key, LockOptions options = {}) {
    return LockLaterBy(*manager, key, options);
  }
  std::shared_ptr<Waiting> LockLaterBy(const LockManager& by, const Key& key,
                                       LockOptions options = {}) {
    auto waiting = std::make_shared<Waiting>();
    waiting->handle =
        AcquireAsync(by.engine(), Spec(key, options),
                     [waiting](AcquireResult result) { waiting->result = std::move(result); });
    clock->RunPending();
    return waiting;
  }

  /// A search of another caller of this process.
  std::shared_ptr<Waiting> NextLater(AcquireSpec spec) {
    auto search = std::make_shared<Waiting>();
    search->handle = AcquireNextAsync(engine(), std::move(spec), [search](AcquireResult result) {
      search->result = std::move(result);
    });
    clock->RunPending();
    return search;
  }

  FailurePtr ReleaseWith(Grant& grant, nlohmann::json body) {
    return Write(grant.lease, WriteKind::kRelease, Body::FromJson(std::move(body)));
  }

  ReadResult Stored(const Key& key) { return Read(engine(), *collection, key); }

  /// The stored document, whether the manager is closed or not.
  bool IsLocked(const Key& key) { return Other().Read(key).result.locked; }
  /// One that uses the store by itself.
  conformance::Client Other() { return conformance::Client(store, "orders"); }

  void Strike(Fault::Kind kind, OpKind op, int times = 1) {
    store->Inject({.kind = kind, .op = op, .key = {}, .skip = 0, .times = times});
  }
  /// Once, before the next operations of this kind or before their reply.
  void Before(OpKind kind, std::function<void()> meanwhile) {
    store->OnExecute([this, kind, meanwhile](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != kind) return;
      store->OnExecute({});
      meanwhile();
    });
  }
  void BeforeReply(OpKind kind, std::function<void()> meanwhile) {
    store->before_reply = [this, kind, meanwhile](std::span<StoreOp* const> ops) {
      if (ops.front()->kind != kind) return;
      store->before_reply = nullptr;
      meanwhile();
    };
  }
  /// The next reply to operations of this kind comes after so much time.
  void HoldUp(OpKind kind, Duration time) {
    BeforeReply(kind, [this, time] { clock->Jump(time); });
  }
  /// A search for documents with this number in the field.
  AcquireSpec Search(const std::string& field, int number, LockOptions options) {
    AcquireSpec spec = MakeSpec(engine(), *collection, options, 30s);
    spec.filter.Equal(field, number);
    return spec;
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<Runtime> runtime = clock->runtime();
  std::shared_ptr<TestStore> store = std::make_shared<TestStore>(OpenMemoryStore({.clock = clock}));
};

}  // namespace doclock::detail
