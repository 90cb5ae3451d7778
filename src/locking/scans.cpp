#include "locking/program.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "document/json/row_filter.h"
#include "document/throttle.h"
#include "locking/decide.h"
#include "rules/fault.h"
#include "rules/rules.h"

namespace doclock::locking {
namespace {

/// How many free documents a search looks at before it reads on.
constexpr std::int64_t kAtOnce = 100;
/// How many held ones it asks when they end. Few: their bodies may be loaded too.
constexpr std::int64_t kHeldAtOnce = 16;
/// How many locks a purge looks for before it clears them.
constexpr std::int64_t kFoundAtOnce = 1000;
/// How many of them one unit clears. Few: other writers may wait for it.
constexpr std::size_t kPurgedAtOnce = 100;

using WallTime = std::optional<std::chrono::system_clock::time_point>;

/// The time of day, if the filter asks for it and the unit has one.
WallTime TimeFor(const Filter& filter, Unit& unit) {
  return filter.has_due() ? unit.WallTime() : std::nullopt;
}

/// The filter, with that time in place of Due.
Filter At(const WallTime& now, const Filter& filter) { return now ? filter.DueAt(*now) : filter; }

/// Loads the documents that a search has shown, until it may take one: decides that, the only one
/// of `found` then.
bool TakeFirst(Unit& unit, const Filter& filter, AcquireOp& op, Key& key,
               std::span<const QueryRow> shown, std::vector<Document>& found) {
  for (const QueryRow& row : shown) {
    key = row.key;
    Asked asked(*op.collection, key);
    asked.alone = true;
    found.clear();
    Document& document = found.emplace_back(asked);
    unit.Load(found);
    const Entry* const entry = document.loaded.entry;
    const bool may_take = entry != nullptr && rules::MayTakeNext(entry->lock, unit.Now()) &&
                          Matches(filter, key, entry->body);
    if (!may_take) continue;
    op.key = asked.key;
    op.hash = asked.hash;
    DecideAcquire(op, document, unit);
    return true;
  }
  return false;
}

void TakeNext(Unit& unit, const Filter& filter, AcquireOp& op, Key& key,
              std::vector<Document>& found, Deadline deadline) {
  Filter page = Filter(filter).Free();
  // Mostly it may take the first one.
  for (std::int64_t limit = 1;; limit = kAtOnce) {
    page.Limit(limit);
    std::vector<QueryRow> shown;
    unit.Scan(*op.collection, page, [&](QueryRow&& row) {
      shown.push_back(std::move(row));
      return true;
    });
    if (TakeFirst(unit, filter, op, key, shown, found)) return;
    if (shown.size() < static_cast<std::size_t>(limit)) break;
    if (std::chrono::steady_clock::now() >= deadline) {
      throw StoreException(Errc::kUnavailable, "doclock: the search had no end in time");
    }
    auto [last, value] = PositionOf(filter, shown.back().key, shown.back().body);
    page.After(std::move(last), std::move(value));
  }
  op.status = OpStatus::kMissing;
}

std::vector<Document> LocksOf(Collection& collection, std::span<const Key> keys) {
  std::vector<Document> locks;
  for (const Key& key : keys) {
    Asked asked(collection, key);
    asked.lock_only = true;
    locks.emplace_back(asked);
  }
  return locks;
}

/// Whether a search may find something. It keeps no writer waiting. If not, it has set when another
/// one is worthwhile.
bool MayFind(Database& database, const Filter& filter, AcquireOp& op, Deadline deadline) {
  return RunUnit(database, Access::kRead, deadline, [&](Unit& unit) {
    const WallTime now = TimeFor(filter, unit);
    bool found = false;
    unit.Scan(*op.collection, At(now, filter).Free().Limit(1), [&](QueryRow&&) {
      found = true;
      return false;
    });
    if (!found) TellFreeIn(unit, filter, now, op);
    return found;
  });
}

/// Keys of some documents behind `after` whose locks are over. Advances `after`; empty: there are
/// no more. A page at a time, without keeping writers away.
std::vector<Key> FindOver(Database& database, Collection& collection, std::int64_t limit,
                          std::string& after, Deadline deadline) {
  return RunUnit(database, Access::kRead, deadline, [&](Unit& unit) {
    std::vector<Key> keys;
    after = unit.ScanOver(collection, after, [&](Candidate&& candidate) {
      const bool over = !candidate.malformed && rules::IsPurgeable(candidate.lock, unit.Now());
      if (over) keys.push_back(std::move(candidate.key));
      return static_cast<std::int64_t>(keys.size()) < std::min(limit, kFoundAtOnce);
    });
    std::sort(keys.begin(), keys.end());  // the order in which all clients load
    return keys;
  });
}

std::int64_t PurgeSome(Unit& unit, Collection& collection, std::span<const Key> keys) {
  std::vector<Document> documents = LocksOf(collection, keys);
  unit.Load(documents);
  for (Document& document : documents) {
    const Entry* const entry = document.loaded.entry;
    const bool over = entry != nullptr && rules::IsPurgeable(entry->lock, unit.Now());
    if (over) rules::Purge(document.Edit().lock);
  }
  if (std::ranges::none_of(documents, &Document::IsDecided)) return 0;
  unit.Commit(documents);
  return std::count_if(documents.begin(), documents.end(), [](const Document& document) {
    return document.outcome.status == OpStatus::kDone;
  });
}

}  // namespace

void Query(Database& database, Collection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink, Deadline deadline) {
  bool shown = false;
  const auto show = [&](QueryRow&& row) {
    shown = true;
    return sink(std::move(row));
  };
  RunUnit(database, Access::kRead, deadline, [&](Unit& unit) {
    try {
      unit.Scan(collection, At(TimeFor(filter, unit), filter), show);
    } catch (const Raced& raced) {
      if (!shown) throw;
      throw StoreException(raced.errc(), raced.what());  // no row is shown twice
    }
  });
}

void AcquireNext(Database& database, const Filter& filter, AcquireOp& op, Key& key,
                 Deadline deadline) {
  if (const char* const fault = FaultOfNext(op.request.grant))
    return op.Fail(Errc::kRefused, fault);
  op.MakePending();
  try {
    if (filter.lock_state() == Filter::LockState::kLocked ||
        (op.request.asks_free_in && !MayFind(database, filter, op, deadline))) {
      op.status = OpStatus::kMissing;
      return;
    }
  } catch (const Error& error) {
    return op.Fail(error.errc(), error.what());
  }
  ExecuteAlone(database, op, deadline, [&](Unit& unit, std::vector<Document>& found) {
    TakeNext(unit, At(TimeFor(filter, unit), filter), op, key, found, deadline);
  });
}

void TellFreeIn(Unit& unit, const Filter& filter, const WallTime& now, AcquireOp& op) {
  using std::chrono::milliseconds;
  op.result.free_in = milliseconds::max();
  if (now) {
    const auto due_in = NextDue(filter, *now, [&](const Filter& first, const auto& visit) {
      unit.Scan(*op.collection, first, visit);
    });
    op.result.free_in = due_in.value_or(milliseconds::max());
  }
  std::vector<Key> held;
  unit.Scan(*op.collection, At(now, filter).Locked().Limit(kHeldAtOnce), [&](QueryRow&& row) {
    held.push_back(std::move(row.key));
    return true;
  });
  std::sort(held.begin(), held.end());  // the order in which all clients load
  std::vector<Document> locks = LocksOf(*op.collection, held);
  unit.Load(locks);
  for (const Document& lock : locks) {
    if (lock.loaded.entry == nullptr) continue;
    const milliseconds left = lock.loaded.entry->lock.lease.Left(unit.Now());
    op.result.free_in = std::clamp(left, milliseconds(0), *op.result.free_in);
  }
}

std::int64_t Purge(Database& database, Collection& collection, std::int64_t limit,
                   Deadline deadline) {
  std::int64_t purged = 0;
  std::string after;
  do {
    const std::vector<Key> over = FindOver(database, collection, limit - purged, after, deadline);
    for (std::span<const Key> rest = over; !rest.empty();) {
      const auto some = rest.first(std::min(rest.size(), kPurgedAtOnce));
      purged += RunUnit(database, Access::kWrite, deadline,
                        [&](Unit& unit) { return PurgeSome(unit, collection, some); });
      rest = rest.subspan(some.size());
      const bool more = !rest.empty() || !after.empty();
      if (more) detail::RestBetweenSteps(deadline);
    }
  } while (!after.empty() && purged < limit && std::chrono::steady_clock::now() < deadline);
  return purged;
}

LockPage ListLocks(Database& database, Collection& collection, const LockQuery& query,
                   const std::string& after, Deadline deadline) {
  return RunUnit(database, Access::kRead, deadline, [&](Unit& unit) {
    LockPage page;
    page.next = unit.ScanLocks(collection, query, after, [&](Candidate&& candidate) {
      LockRow row;
      row.key = std::move(candidate.key);
      row.has_body = candidate.has_body;
      row.malformed = row.live = candidate.malformed;
      if (!candidate.malformed) {
        rules::AddRows(page.rows, row, candidate.lock, query, unit.Now());
      } else if (query.group.empty() || candidate.lock.group == query.group) {
        row.why_malformed = std::move(candidate.why_malformed);
        page.rows.push_back(std::move(row));
      }
      return true;
    });
    return page;
  });
}

}  // namespace doclock::locking
