#include "doclock/memory_store.h"

#include <utility>

#include "document/open_collections.h"
#include "memory/memory_collection.h"
#include "memory/operations.h"
#include "rules/fault.h"

namespace doclock {
namespace {

using memory::MemoryCollection;
using memory::Moment;

/// The store: a map of collections. The other files of this folder work on one collection.
class MemoryStore : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.lanes = static_cast<int>(MemoryCollection::kShards);
    traits.immediate = true;
    traits.shared = false;
    traits.queues = true;
    return traits;
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    return collections_.Open(name, fields, default_ttl, [&](std::size_t) {
      return std::make_shared<MemoryCollection>(name, fields, default_ttl);
    });
  }

  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const override {
    return collections_.Find(name);
  }

  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds) override {
    Moment moment(*clock_);
    for (StoreOp* op : ops) ExecuteOne(*op, moment);
  }

  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink, std::chrono::milliseconds) override {
    memory::Query(Ours(collection), filter, sink, clock_->Now());
  }

  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds) override {
    memory::AcquireNext(filter, op, key, clock_->Now());
  }

  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    if (!index.held_locks) Ours(collection).EnsureIndex(index);
  }

  std::int64_t Purge(Collection& collection, std::int64_t limit,
                     std::chrono::milliseconds) override {
    return memory::Purge(Ours(collection), limit, clock_->Now());
  }

  std::unique_ptr<Subscription> Watch(
      Collection& collection, std::function<void(std::optional<std::size_t>)> hint) override {
    return Ours(collection).watchers().Add(std::move(hint));
  }

  [[nodiscard]] bool OthersMayWait(Collection&) const noexcept override { return false; }

  [[nodiscard]] LockPage ListLocks(Collection& collection, const LockQuery& query,
                                   const std::string& after, std::chrono::milliseconds) override {
    return memory::ListLocks(Ours(collection), query, after, clock_->Now());
  }

  [[nodiscard]] std::vector<std::string> ListCollections(std::chrono::milliseconds) override {
    return collections_.Names();
  }

 private:
  static MemoryCollection& Ours(Collection& collection) noexcept {
    return static_cast<MemoryCollection&>(collection);
  }

  static void ExecuteOne(StoreOp& op, Moment& moment) {
    if (const char* const fault = FaultOf(op)) return op.Fail(Errc::kRefused, fault);
    try {
      Visit(op, [&moment](auto& one) { memory::Execute(one, moment); });
    } catch (...) {
      op.status = OpStatus::kPending;  // out of memory: what was decided may not be stored
      throw;
    }
  }

  std::shared_ptr<const Clock> clock_;
  OpenCollections<MemoryCollection> collections_;
};

}  // namespace

std::shared_ptr<Store> OpenMemoryStore(MemoryStoreOptions options) {
  if (!options.clock) options.clock = SystemClock();
  return std::make_shared<MemoryStore>(std::move(options.clock));
}

}  // namespace doclock
