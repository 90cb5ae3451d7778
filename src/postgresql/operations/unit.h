#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "locking/database.h"
#include "postgresql/client/pool.h"
#include "postgresql/operations/joined_work.h"
#include "postgresql/operations/short_cuts.h"
#include "postgresql/tables/postgresql_collection.h"
#include "postgresql/tables/rows.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {

/// One unit: a transaction on one connection, which locks what it loads. One that reads a single
/// document is a statement; what reads more sees one moment.
class PostgresqlUnit final : public locking::Unit {
 public:
  /// @throws Loss, Refusal
  PostgresqlUnit(Pool& pool, locking::Access access, Deadline deadline, std::int64_t instance);
  /// Ends a transaction that was not committed.
  ~PostgresqlUnit() override;

  /// Carries out short cuts, and ends the unit. Where they could not be carried out, the operations
  /// stay pending. Returns true; false if another client's transaction has locked one of the
  /// tables, or the row. @param alone there is one operation, and it waits for its document
  bool CarryOut(std::span<const ShortCut> cuts, bool alone);

  TimePoint Now() override;
  std::optional<std::chrono::system_clock::time_point> WallTime() override;
  [[nodiscard]] std::int64_t instance() const noexcept override { return instance_; }
  [[nodiscard]] std::int64_t floor() const noexcept override { return connection_->floor(); }
  void CheckBody(const Body& body) const override { CheckForJsonb(body); }
  void Load(std::span<locking::Document> documents) override;
  void Scan(Collection& collection, const Filter& filter,
            const std::function<bool(QueryRow&&)>& visit) override;
  std::string ScanLocks(Collection& collection, const LockQuery& query, const std::string& after,
                        const std::function<bool(locking::Candidate&&)>& visit) override;
  void Commit(std::span<locking::Document> documents) override;
  /// A JoinedWork.
  [[nodiscard]] void* Native() override { return &joined_.emplace(*connection_, deadline_); }

 private:
  /// Begins the transaction with the next statements, unless it has begun.
  void Begin();
  /// What is read from now on was there at one moment. In a unit that reads.
  void BeginSnapshot();
  void BeginScan();
  std::vector<Result> Run() { return connection_->Run(deadline_); }
  /// Would a wait for a lock take until the call ends? Then a write would be in doubt. (The answer
  /// takes time too.)
  [[nodiscard]] bool HasNoTimeToWait() const {
    return std::chrono::steady_clock::now() + 2 * kLockWait >= deadline_;
  }
  /// Returns how long a write waits for each lock on the row that it loads, at most: a row has up
  /// to two, and behind them there is time to write. It is long because a wait that ends loses its
  /// place in the row's queue.
  [[nodiscard]] std::chrono::milliseconds LongestWait(Deadline patience) const;
  /// Another client's transaction has held a document or a table for as long as a statement waits.
  /// @throws Raced if the unit is to wait once more; otherwise locking::Kept
  [[noreturn]] void ThrowKept(std::span<const locking::Document> documents) const;
  void Keep(locking::Document& document, FoundRow&& found);
  /// Whether documents that were not found are there, and another transaction has locked their
  /// rows.
  void MarkBlocked(std::span<locking::Document> documents);
  void Send(const locking::Document& document);
  /// Sends what was queued, and the commit. Asks for these collections (hint_lock) whether another
  /// store wants hints: before the commit, so that one which wants them from then on may miss this
  /// one, and finds it by a poll. @throws Refusal, Loss, InDoubtException
  void CommitAndAsk(const std::set<std::int64_t>& hint_locks);
  /// Run, where that commits. @throws Refusal, Loss, InDoubtException
  std::vector<Result> RunCommit();
  /// Gives the only document of a unit its outcome, or throws what the refusal means for all.
  void Refuse(const Refusal& refusal, std::span<locking::Document> documents);
  std::string NameOfIndex(const PostgresqlCollection& collection, const std::string& constraint);
  /// Tells those whom the committed decisions concern.
  void Tell(std::span<const locking::Document> documents) noexcept;
  void Tell(std::span<const ShortCut> cuts) noexcept;
  template <class Part, class F>
  void TellEach(std::span<Part> parts, const F& tell) noexcept;
  /// Notifies waiters of this store, and queues the notification of others. Returns true; false if
  /// none is needed.
  bool Tell(Collection& collection, const LockHint& local, const rules::PassedOn& passed_on);
  Pool& pool_;
  const locking::Access access_;
  const Deadline deadline_;
  const std::int64_t instance_;
  const Pool::Lent connection_;
  std::optional<JoinedWork> joined_;  ///< Once there is some.
  bool has_begun_ = false;            ///< A transaction is open.
  bool has_looked_ = false;           ///< Something was loaded or searched.
  bool has_long_waits_ = false;       ///< The transaction's lock_timeout is a LongestWait.
  bool others_listen_ = false;
  std::optional<TimePoint> now_;
  std::vector<std::unique_ptr<const locking::Entry>> entries_;
};

}  // namespace doclock::postgresql
