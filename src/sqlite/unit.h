#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "locking/database.h"
#include "platform/standard_numbers.h"
#include "sqlite/db/deadline.h"
#include "sqlite/db/reader_pool.h"
#include "sqlite/tables/lock_reader.h"
#include "sqlite/writer.h"

namespace doclock::sqlite {

/// A transaction as locking::Unit wants it. Its functions throw DatabaseError, and Commit
/// InDoubtException.
class Unit : public locking::Unit {
 public:
  TimePoint Now() override { return reader_->now(); }
  std::optional<std::chrono::system_clock::time_point> WallTime() override {
    return context_.clock.WallTime();
  }
  [[nodiscard]] std::int64_t instance() const noexcept override {
    return context_.coordinator.slot();
  }
  [[nodiscard]] std::int64_t floor() const noexcept override { return context_.floor; }
  void Load(std::span<locking::Document> documents) override;
  void Scan(Collection& collection, const Filter& filter,
            const std::function<bool(QueryRow&&)>& visit) override;
  std::string ScanLocks(Collection& collection, const LockQuery& query, const std::string& after,
                        const std::function<bool(locking::Candidate&&)>& visit) override;

 protected:
  explicit Unit(const StoreContext& context) noexcept : context_(context) {}
  /// The transaction has begun.
  void Begun(Connection& connection) {
    connection_ = &connection;
    reader_.emplace(connection, context_);
  }

  const StoreContext& context_;
  Connection* connection_ = nullptr;
  std::optional<LockReader> reader_;

 private:
  std::vector<std::unique_ptr<const LoadedDocument>> loaded_;
};

/// Sees one moment, and keeps no writer away.
class ReadUnit final : public Unit {
 public:
  /// @throws DatabaseError
  ReadUnit(ReaderPool& pool, const StoreContext& context, Deadline deadline)
      : Unit(context), loan_(pool.Take(deadline)) {
    Begun(*loan_);
  }
  void Commit(std::span<locking::Document>) override {}

 private:
  const ReaderPool::Loan loan_;
};

/// Has the turn to write.
class WriteUnit final : public Unit {
 public:
  /// @throws DatabaseError
  /// @param all all documents are stored, or none
  WriteUnit(Writer& writer, const StoreContext& context, Deadline deadline, bool all);
  ~WriteUnit() override;
  [[nodiscard]] bool IsSpoilt() const noexcept override { return !over_; }
  [[nodiscard]] void* Native() override {
    changed_ = joined_ = true;
    return connection_->handle();
  }
  void Commit(std::span<locking::Document> documents) override;

 private:
  /// Returns whether an index or the like accepts the document; else it has its outcome.
  /// @throws DatabaseError if the transaction is spoilt
  [[nodiscard]] bool Put(locking::Document& document);

  const platform::StandardNumbersTaken taken_;  // SQLite opens folders and temporary files
  Writer& writer_;
  Writer::Turn turn_;
  const bool all_;
  bool changed_ = false;                     ///< There may be something to roll back.
  bool joined_ = false;                      ///< The program has had the connection.
  bool over_ = false;                        ///< COMMIT was tried.
  std::vector<Notification> notifications_;  ///< Whom the decisions concern.
};

}  // namespace doclock::sqlite
