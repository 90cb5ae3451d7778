#pragma once

#include "doclock/store/store.h"

namespace doclock::simulation {

/// What serves requests: the primary, or a former one that does not know yet that it was deposed.
/// Each call happens at one moment.
class Primary {
 public:
  Primary() = default;
  Primary(const Primary&) = delete;
  Primary& operator=(const Primary&) = delete;
  virtual ~Primary() = default;

  /// Executes one operation.
  virtual void Execute(StoreOp& op) = 0;
  /// Executes operations that are stored together.
  virtual void ExecuteTogether(std::span<StoreOp* const> ops) {
    for (const StoreOp* const op : ops) Note(*op);
    CommitOp commit{.ops = ops};
    store().Commit(commit, kBudget);
  }
  /// Takes note of a request that it does not execute itself.
  virtual void Note(const StoreOp&) {}
  /// For operations on many documents.
  [[nodiscard]] virtual Store& store() noexcept = 0;
  /// The documents as it knows a majority to have them.
  [[nodiscard]] virtual Store& sure() noexcept = 0;
  virtual std::int64_t Purge(Collection& collection, std::int64_t limit) {
    return store().Purge(collection, limit, kBudget);
  }
  [[nodiscard]] virtual LockPage ListLocks(Collection& collection, const LockQuery& query) {
    return store().ListLocks(collection, query, {}, kBudget);
  }

 protected:
  static constexpr std::chrono::milliseconds kBudget{1000};
};

}  // namespace doclock::simulation
