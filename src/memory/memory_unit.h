#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "doclock/clock.h"
#include "document/json/row_filter.h"
#include "locking/database.h"
#include "memory/memory_collection.h"

namespace doclock::memory {

/// One unit over documents in memory: it keeps the shards locked whose documents it has loaded. A
/// scan of one that reads locks all shards of the collection, so that it sees one moment.
class MemoryUnit final : public locking::Unit {
 public:
  MemoryUnit(const Clock& clock, locking::Access access) noexcept
      : clock_(clock),
        reads_(access == locking::Access::kRead),
        all_(access == locking::Access::kWriteAll) {}
  ~MemoryUnit() override { Unlock(); }

  TimePoint Now() override {
    if (!now_) now_ = clock_.Now();
    return *now_;
  }
  std::optional<std::chrono::system_clock::time_point> WallTime() override {
    return clock_.WallTime();
  }
  bool Try(StoreOp& op) override;
  void Load(std::span<locking::Change> documents) override;
  void Scan(Collection& collection, const Filter& filter,
            const std::function<bool(QueryRow&&)>& visit) override;
  std::string ScanLocks(Collection& collection, const LockQuery& query, const std::string& after,
                        const std::function<bool(locking::Candidate&&)>& visit) override;
  void Commit(std::span<locking::Change> changes) override;

 private:
  void Lock(Shard& shard);
  void LockAll(std::span<const locking::Change> documents);
  void Unlock() noexcept;

  /// The lock of a shard, unless the unit has all of them.
  [[nodiscard]] std::unique_lock<std::mutex> LockForScan(Shard& shard) const;
  /// The row of a document, if it matches.
  std::optional<QueryRow> Fetch(MemoryCollection& collection, const Key& key, std::size_t hash,
                                const Filter& filter);
  void ScanIndex(MemoryCollection& collection, const IndexPlan& plan, const Filter& filter,
                 const std::function<bool(QueryRow&&)>& visit);
  void ScanShards(MemoryCollection& collection, const Filter& filter,
                  const std::function<bool(QueryRow&&)>& visit);
  void LockAllOf(MemoryCollection& collection);
  void AddRows(const Shard& shard, std::vector<QueryRow>& rows);
  void ShowRows(Shard& shard, FirstRows& rows);
  /// Of one moment.
  std::vector<QueryRow> AllRows(MemoryCollection& collection);
  [[nodiscard]] QueryRow RowOf(const Document& document);

  const Clock& clock_;
  const bool reads_, all_;
  std::optional<TimePoint> now_;
  Shard* locked_ = nullptr;  ///< The last one; each knows the one before.
};

}  // namespace doclock::memory
