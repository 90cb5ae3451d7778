#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "locking/database.h"
#include "mongodb/operations/operations.h"

namespace doclock::mongodb {

/// A unit without a transaction: it reads, and the statement that stores a change says what it
/// rests on. It stores no renewals, and no grants but to the next holder (LockChange). Several
/// changes, of one collection, are updates in one command, each by itself.
class MongodbUnit final : public locking::Unit {
 public:
  MongodbUnit(Server& server, locking::Access access, Deadline deadline);

  /// From now on all documents are seen at one moment. Needs a replica set.
  void SeeOneMoment() { moment_.emplace(); }

  /// The moment of the look, from which all times of a loaded lock are counted.
  TimePoint Now() override { return kLookedAt; }
  void Load(std::span<locking::Change> documents) override;
  void Scan(Collection& collection, const Filter& filter,
            const std::function<bool(QueryRow&&)>& visit) override;
  std::string ScanLocks(Collection& collection, const LockQuery& query, const std::string& after,
                        const std::function<bool(locking::Candidate&&)>& visit) override;
  std::string ScanOver(Collection& collection, const std::string& after,
                       const std::function<bool(locking::Candidate&&)>& visit) override;
  void Commit(std::span<locking::Change> changes) override;

 private:
  struct Loaded : locking::Entry {
    StoredLock stored;
    Doc seen;  ///< The fields of the lock; in a unit that writes.
  };
  /// Keeps a document that the view shows.
  const Loaded& Keep(Operations::Shown&& shown, const Collection& collection, bool whole);
  /// Documents of one collection.
  void LoadSome(std::span<locking::Change> documents);
  /// Finds out which of several changes the server has counted.
  void Settle(std::span<locking::Change* const> changes, std::int64_t done);

  static Doc StatementOf(const locking::Change& change);
  /// Stores the change of one document. @throws locking::Raced
  void CommitOne(locking::Change& change);

  Server& server_;
  const locking::Access access_;
  const Deadline deadline_;
  std::optional<Moment> moment_;
  Operations operations_;
  std::deque<Loaded> loaded_;
};

}  // namespace doclock::mongodb
