#pragma once

#include <memory>
#include <string>
#include <vector>

#include "doclock/store/record_store.h"
#include "locking/database.h"

namespace doclock::records {

/// One unit over records: one transaction.
class RecordUnit final : public locking::Unit {
 public:
  /// @param all all changes are stored, or none
  RecordUnit(const RecordStore& records, std::unique_ptr<RecordStore::Transaction> transaction,
             std::string run, bool all)
      : records_(records),
        transaction_(std::move(transaction)),
        run_(std::move(run)),
        now_(records.Now()),
        all_(all) {}

  TimePoint Now() override { return now_; }
  std::optional<std::chrono::system_clock::time_point> WallTime() override {
    return records_.WallTime();
  }
  void Load(std::span<locking::Change> documents) override;
  void Scan(Collection& collection, const Filter& filter,
            const std::function<bool(QueryRow&&)>& visit) override;
  std::string ScanLocks(Collection& collection, const LockQuery& query, const std::string& after,
                        const std::function<bool(locking::Candidate&&)>& visit) override;
  void Commit(std::span<locking::Change> changes) override;

 private:
  const RecordStore& records_;
  const std::unique_ptr<RecordStore::Transaction> transaction_;
  const std::string run_;
  const TimePoint now_;
  const bool all_;
  std::vector<std::unique_ptr<const locking::Entry>> entries_;
};

}  // namespace doclock::records
