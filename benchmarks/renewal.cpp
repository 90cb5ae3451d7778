/// Ten thousand held locks: what renewing them costs, and how much memory each takes.

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "compare.h"
#include "doclock/doclock.h"
#include "engine/engine.h"
#include "sqlite_floor.h"

namespace {
std::atomic<std::int64_t> allocated_bytes = 0;
}

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size);
  if (!memory) throw std::bad_alloc();
  allocated_bytes += static_cast<std::int64_t>(::malloc_usable_size(memory));
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory) allocated_bytes -= static_cast<std::int64_t>(::malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace doclock::bench {
namespace {

constexpr int kHeld = 10'000;
constexpr int kDocuments = 100'000;

struct Held {
  Held(Store& store, std::shared_ptr<Collection> where) : collection(std::move(where)) {
    keys.reserve(kHeld);
    for (int i = 0; i < kDocuments; i += kDocuments / kHeld)
      keys.emplace_back(BareUpdates::KeyOf(i));
    for (int from = 0; from < kHeld; from += 500) {
      std::vector<AcquireOp> acquires;
      for (int i = from; i < from + 500; ++i) {
        AcquireOp acquire(*collection, keys[static_cast<std::size_t>(i)]);
        acquire.request.grant.lock_id = NewUuid();
        acquire.request.grant.ttl = std::chrono::hours(1);
        acquires.push_back(std::move(acquire));
      }
      std::vector<StoreOp*> ops;
      for (auto& acquire : acquires) ops.push_back(&acquire);
      store.Execute(ops, 10s);
      for (auto& acquire : acquires) {
        if (acquire.status != OpStatus::kDone) std::abort();
        RenewOp renew(*collection, {keys[renewals.size()], acquire.hash});
        renew.request.lock_id = acquire.request.grant.lock_id;
        renew.request.ttl = acquire.request.grant.ttl;
        renewals.push_back(std::move(renew));
      }
    }
  }

  /// Seconds to renew all, `batch` at a time: as the lease keeper does it.
  double Renew(Store& store, std::size_t batch) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<StoreOp*> ops;
    for (auto& renewal : renewals) {
      ops.push_back(&renewal);
      if (ops.size() < batch) continue;
      store.Execute(ops, 10s);
      ops.clear();
    }
    const double seconds = Seconds(std::chrono::steady_clock::now() - start).count();
    for (const auto& renewal : renewals) {
      if (renewal.status != OpStatus::kDone) std::abort();
    }
    return seconds;
  }

  std::shared_ptr<Collection> collection;
  std::vector<Key> keys;
  std::vector<RenewOp> renewals;
};

void Renewals(benchmark::State& state) {
  const auto sync = static_cast<SqliteSync>(state.range(0));
  const TempFolder folder;
  const auto store = OpenSqliteStore(folder / "ours.db", {.sync = sync});
  const auto collection = store->Open("orders", {}, 30s);
  FillStore(*store, *collection, kDocuments);
  Held held(*store, collection);
  Compare(
      state, {.value = sync == SqliteSync::kFull ? 35.0 : 6.0},
      [&] { return 1 / held.Renew(*store, 1); }, [&] { return 1 / held.Renew(*store, 1000); });
}
BENCHMARK(Renewals)
    ->ArgName("sync")
    ->Arg(static_cast<int>(SqliteSync::kNormal))
    ->Arg(static_cast<int>(SqliteSync::kFull))
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

/// Client memory of a held lock besides its body, with 36-character keys.
void BytesPerHeldLock(benchmark::State& state) {
  const TempFolder folder;
  LockManager manager{OpenSqliteStore(folder / "ours.db", {.sync = SqliteSync::kOff})};
  const auto collection = manager.store()->Open("orders", {}, 30s);
  const auto key = [](int i) {
    return Key("00000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i));
  };
  const auto lock = [&](int i) {
    detail::AcquireSpec spec = detail::MakeSpec(manager.engine(), *collection, {.ttl = 1h}, 30s);
    spec.key = key(i);
    spec.insert = SampleText(i);
    return detail::Acquire(manager.engine(), std::move(spec), {}).grant.lease;
  };
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i) detail::Write(lock(-1 - i), WriteKind::kRelease, {});  // warm up
    std::vector<detail::LeasePtr> leases(kHeld);
    std::int64_t before = allocated_bytes;
    std::vector<Body> bodies;
    bodies.reserve(kHeld);
    for (int i = 0; i < kHeld; ++i) bodies.push_back(SampleText(i));
    const std::int64_t body_bytes = allocated_bytes - before;
    bodies = {};
    before = allocated_bytes;
    for (int i = 0; i < kHeld; ++i) leases[static_cast<std::size_t>(i)] = lock(i);
    // sizeof(Body) stands in the lease itself.
    const double each = static_cast<double>(allocated_bytes - before - body_bytes) / kHeld +
                        static_cast<double>(sizeof(Body));
    Report(state, 256, each, each / 256, {.value = 1, .at_most = true});
    state.counters["sizeof_lease"] = sizeof(detail::Lease);
    for (const auto& lease : leases) detail::Write(lease, WriteKind::kRelease, {});
  }
}
BENCHMARK(BytesPerHeldLock)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
