#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doclock/store/record_store.h"
#include "locking/database.h"
#include "records/record_collection.h"
#include "records/unique_indexes.h"

namespace doclock::records {

/// One unit over records: one transaction.
class RecordUnit final : public locking::Unit {
 public:
  RecordUnit(RecordStore& records, std::unique_ptr<RecordStore::Transaction> transaction,
             std::string run, locking::Access access)
      : records_(records),
        transaction_(std::move(transaction)),
        run_(std::move(run)),
        access_(access) {}

  TimePoint Now() override { return Time().now; }
  std::optional<std::chrono::system_clock::time_point> WallTime() override { return Time().wall; }
  void Load(std::span<locking::Document> documents) override;
  void Scan(Collection& collection, const Filter& filter,
            const std::function<bool(QueryRow&&)>& visit) override;
  std::string ScanLocks(Collection& collection, const LockQuery& query, const std::string& after,
                        const std::function<bool(locking::Candidate&&)>& visit) override;
  void Commit(std::span<locking::Document> documents) override;

 private:
  const RecordTime& Time();
  /// Whether a collection has to be locked before its first Load, which this is about to be.
  bool MustLock(RecordCollection& collection);
  void LoadOf(std::span<locking::Document> documents);
  std::vector<std::optional<Record>> LoadKeys(std::span<const RecordKey> keys);
  void Show(locking::Document& document, Record&& record);
  /// Returns the unique index that refuses what was decided; nothing: none does.
  std::optional<std::string> Refusing(UniqueCheck& check, const locking::Document& document);
  void Tell(std::span<locking::Document* const> put);

  RecordStore& records_;
  std::unique_ptr<RecordStore::Transaction> transaction_;  ///< Null once it is committed.
  const std::string run_;
  const locking::Access access_;
  std::optional<RecordTime> time_;
  /// The collections that it has loaded from. True: it locked them first, as it must for unique
  /// indexes.
  std::map<const Collection*, bool> locks_;
  std::vector<std::unique_ptr<const locking::Entry>> entries_;
};

}  // namespace doclock::records
