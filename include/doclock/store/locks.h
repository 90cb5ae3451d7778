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

/// Selects the locks that Store::ListLocks shows.
struct LockQuery {
  std::optional<Key> key = std::nullopt;  ///< Only this document.
  std::string group = {};                 ///< Only locks of this group; empty: all locks.
  bool unheld = false;                    ///< Also documents that are not locked (nil `lock_id`).
};

/// A lock as Store::ListLocks shows it. A shared lock has one row for each share.
struct LockRow {
  Key key;                               ///< The document's key.
  Uuid lock_id{};                        ///< Nil: not locked. A share's own id.
  LockMode mode = LockMode::kExclusive;  ///< How it is held.
  bool live = false;                     ///< Held, and its lease is not over.
  bool closed = false;                   ///< min_hold keeps all clients out.
  bool malformed = false;    ///< Its fields are not what this library writes; live is true.
  bool has_body = false;     ///< Does the document hold anything besides its lock?
  std::int64_t version = 0;  ///< The document's version.
  /// The fence of a held lock: the document's version at this grant, each share's own. Empty if the
  /// store does not know it.
  std::optional<std::int64_t> fence;
  Uuid born{};                       ///< The document's incarnation.
  LockHolder holder;                 ///< The holder of a held lock.
  std::string group;                 ///< The group of a held lock.
  std::chrono::milliseconds ttl{};   ///< Length of its lease.
  std::chrono::milliseconds left{};  ///< What is left of a live lock's lease.
  /// If held: the time since the grant (or the last checkpoint; on MongoDB the last renewal). If
  /// not held: how long it has been free, at least. A store that does not record releases counts
  /// from the end of the last lease. A purge leaves it. Zero: it was never held, or nothing is
  /// known.
  std::chrono::milliseconds age{};
  int waiting = 0;  ///< Live entries of the document's queue (see AcquireOp).
  LockHolder next;  ///< The owner of the first of them; empty if there is none.
  /// If malformed: which field is not what which library writes, for messages; empty: not known.
  std::string why_malformed;
};

/// Some locks, and the position of the rest.
struct LockPage {
  std::vector<LockRow> rows;  ///< In no particular order.
  std::string next;           ///< Pass it as `after`; empty: there are no more.
};

}  // namespace doclock
