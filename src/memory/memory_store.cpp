#include "doclock/memory_store.h"

#include <utility>

#include "locking/locking_store.h"
#include "memory/memory_collection.h"
#include "memory/memory_unit.h"

namespace doclock {
namespace {

using memory::MemoryCollection;
using memory::MemoryUnit;

MemoryCollection& Ours(Collection& collection) noexcept {
  return static_cast<MemoryCollection&>(collection);
}

/// Documents in memory, as a database of locks.
class MemoryDatabase final : public locking::Database {
 public:
  explicit MemoryDatabase(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.lanes = static_cast<int>(MemoryCollection::kShards);
    traits.immediate = true;
    traits.shared = traits.others_may_wait = false;
    traits.queues = true;
    traits.transactions = true;
    return traits;
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    auto collection = std::make_shared<MemoryCollection>(name, fields, default_ttl);
    const std::lock_guard guard(mutex_);
    names_.push_back(name);
    return collection;
  }

  std::unique_ptr<locking::Unit> Begin(locking::Access access, locking::Deadline) override {
    return std::make_unique<MemoryUnit>(*clock_, access);
  }
  void Run(locking::Access access, locking::Deadline,
           const std::function<void(locking::Unit&)>& use) override {
    MemoryUnit unit(*clock_, access);
    use(unit);
  }

  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    return Ours(collection).watchers().Add(std::move(listener));
  }

  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    if (!index.held_locks) Ours(collection).EnsureIndex(index);
  }

  [[nodiscard]] std::optional<std::vector<std::string>> ListCollections(
      locking::Deadline) override {
    const std::lock_guard guard(mutex_);
    return names_;
  }

 private:
  const std::shared_ptr<const Clock> clock_;
  std::mutex mutex_;
  std::vector<std::string> names_;  ///< Of the collections.
};

}  // namespace

std::shared_ptr<Store> OpenMemoryStore(MemoryStoreOptions options) {
  if (!options.clock) options.clock = SystemClock();
  return locking::StoreOn(std::make_unique<MemoryDatabase>(std::move(options.clock)));
}

}  // namespace doclock
