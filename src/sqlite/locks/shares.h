#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "sqlite/db/connection.h"
#include "sqlite/locks/lock_columns.h"
#include "sqlite/schema/table_names.h"

namespace doclock::sqlite {

/// One holder of a shared lock, as stored.
struct StoredShare {
  std::int64_t doc = 0;  ///< The row's id of its document.
  /// Its lease: id, last sign of life, ttl, slot, boot, owner, wall and fence; `doc` is
  /// ShareNumber.
  LockColumns lease;
  std::chrono::nanoseconds granted{};  ///< BootClock.
  std::string group;                   ///< Empty: none.
};

/// What tells shares apart in the LeaseEvaluator's memory: ids are random.
std::int64_t ShareNumber(const Uuid& id) noexcept;

/// What the side table holds of one document, looked at no closer.
struct ShareRows {
  std::int64_t shares = 0;  ///< Live or not.
  bool malformed = false;   ///< One of the shares is.
};

/// The side table of shared locks. A document whose lock id is kSharedLockId has shares; what
/// stands here of another one was left by somebody else and means nothing.
class Shares {
 public:
  Shares(Connection& connection, const TableNames& tables) noexcept
      : connection_(connection), tables_(tables) {}

  [[nodiscard]] ShareRows Glance(std::int64_t doc);
  [[nodiscard]] std::vector<StoredShare> Of(std::int64_t doc);
  void Put(const StoredShare& share) { Write(Sql::kPutShare, share); }
  /// False: there is one of this id, live or not, and it stays.
  [[nodiscard]] bool Add(const StoredShare& share);
  void Delete(std::int64_t doc, const Uuid& id) {
    connection_.Run(tables_, Sql::kDeleteShare, doc, id);
  }
  void DeleteAll(std::int64_t doc) { connection_.Run(tables_, Sql::kDeleteShares, doc); }
  /// Prolongs a share that was renewed before and names this slot and boot, if that is still so.
  [[nodiscard]] bool Renew(std::int64_t doc, const Uuid& id, std::chrono::nanoseconds now,
                           std::chrono::milliseconds ttl, std::int64_t slot, std::int64_t boot);
  /// Deletes a share if it and another one are live, both of this slot and boot.
  [[nodiscard]] bool Leave(std::int64_t doc, const Uuid& id, std::chrono::nanoseconds now,
                           std::int64_t slot, std::int64_t boot);
  /// Lets the document's own lease, which covers all shares, last so long from now at least.
  void Cover(std::int64_t doc, std::chrono::nanoseconds now, std::chrono::milliseconds ttl);

 private:
  static StoredShare Read(const Statement& row, std::int64_t doc);
  void Write(Sql which, const StoredShare& share);

  Connection& connection_;
  const TableNames& tables_;
};

}  // namespace doclock::sqlite
