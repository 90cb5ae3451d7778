#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doclock/errors.h"
#include "doclock/key.h"
#include "doclock/lock_options.h"
#include "doclock/uuid.h"

namespace doclock {

/// Which locks Store::ListLocks shows.
struct LockQuery {
  std::optional<Key> key = std::nullopt;  ///< Only this document.
  std::string group = {};                 ///< Only locks of this group; empty: of any and of none.
  bool unheld = false;                    ///< Documents that nobody holds too (`lock_id` is nil).
};

/// A lock as Store::ListLocks shows it: one row for each share of a shared lock.
struct LockRow {
  Key key;                               ///< Of which document.
  Uuid lock_id{};                        ///< Nil when nobody holds it; the share's own.
  LockMode mode = LockMode::kExclusive;  ///< How it is held.
  bool live = false;                     ///< Held, and its lease is not over.
  bool closed = false;                   ///< min_hold keeps everybody out.
  bool malformed = false;    ///< Its fields are not what this library writes; live is true.
  bool has_body = false;     ///< Does the document hold anything besides its lock?
  std::int64_t version = 0;  ///< Of the document.
  /// Of a held lock: the document's version at this grant, each share's own. None where the store
  /// cannot tell it.
  std::optional<std::int64_t> fence;
  Uuid born{};                       ///< The document's incarnation.
  LockHolder holder;                 ///< Of a held lock.
  std::string group;                 ///< Of a held lock.
  std::chrono::milliseconds ttl{};   ///< Length of its lease.
  std::chrono::milliseconds left{};  ///< Of a live lock's lease.
  /// Held: since the grant (or the last checkpoint; on MongoDB the last renewal). Not held: for how
  /// long, at least. A store that does not note when locks are released counts from the end of the
  /// last lease. A purge leaves it. Zero: it was never held, or nothing is known.
  std::chrono::milliseconds age{};
};

/// Some locks, and where the rest begins.
struct LockPage {
  std::vector<LockRow> rows;  ///< In no particular order.
  std::string next;           ///< To be passed as `after`; empty: there are no more.
};

/// For administration and tests: an act on a lock by somebody who does not hold it.
enum class Intervention : std::uint8_t {
  kExpire,  ///< The lease is over now, untaken; those of all shares too.
  kBreak,   ///< The lock is cleared, with all its shares; marked in lockReleased, version + 1.
  kSteal,   ///< A stranger takes it now, with a lease of 30 s.
};

}  // namespace doclock
