#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>

#include "locking/database.h"
#include "mongodb/operations/operations.h"

namespace doclock::mongodb {

/// A unit without a transaction: it reads, and the update that stores a change says what it rests
/// on. It loads locks without bodies, and commits what the rules made of a lock that is given up,
/// left by a waiter or cleared. Several changes, of one collection, go in one command, each by
/// itself.
class MongodbUnit final : public locking::Unit {
 public:
  MongodbUnit(Server& server, Deadline deadline);

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
    Loaded(StoredLock&& found, const bson_t& doc);
    StoredLock stored;
    Doc seen;  ///< The fields of the lock.
  };
  /// Documents of one collection.
  void LoadSome(std::span<locking::Change> documents);
  /// Finds out which of several changes the server has counted.
  void Settle(std::span<locking::Change* const> changes, std::int64_t done);

  Server& server_;
  const Deadline deadline_;
  Operations operations_;
  std::deque<Loaded> loaded_;
};

}  // namespace doclock::mongodb
