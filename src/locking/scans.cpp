#include "locking/scans.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "document/json/row_filter.h"
#include "locking/decide.h"
#include "locking/execute.h"
#include "rules/fault.h"
#include "rules/looking.h"
#include "rules/queue.h"
#include "rules/tidying.h"

namespace doclock::locking {
namespace {

/// How many free documents a search looks at before it reads on.
constexpr std::int64_t kAtOnce = 100;
/// How many locks one unit clears.
constexpr std::int64_t kPurgedAtOnce = 1000;

/// Loads the documents that a search found, until it may take one: decides that.
std::optional<Change> TakeFirst(Unit& unit, const Filter& filter, AcquireOp& op, Key& key,
                                const std::vector<QueryRow>& found) {
  for (const QueryRow& row : found) {
    Change change(*op.collection, row.key);
    unit.Load({&change, 1});
    const bool may_take = change.was != nullptr &&
                          rules::MayTakeNext(change.was->lock, unit.Now()) &&
                          Matches(filter, row.key, change.was->body);
    if (!may_take) continue;
    key = row.key;
    change.key = op.key = &key;
    op.hash = change.hash;
    DecideAcquire(op, change, unit);
    return change;
  }
  return std::nullopt;
}

std::optional<Change> TakeNext(Unit& unit, const Filter& filter, AcquireOp& op, Key& key) {
  Filter page = Filter(filter).Free().Limit(kAtOnce);
  for (;;) {
    std::vector<QueryRow> found;
    unit.Scan(*op.collection, page, [&](QueryRow&& row) {
      found.push_back(std::move(row));
      return true;
    });
    if (auto change = TakeFirst(unit, filter, op, key, found)) return change;
    if (found.size() < static_cast<std::size_t>(kAtOnce)) return std::nullopt;
    auto [last, value] = PositionOf(filter, found.back().key, found.back().body);
    page.After(std::move(last), std::move(value));
  }
}

}  // namespace

void Query(Database& database, Collection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink, Deadline deadline) {
  database.Begin(Access::kRead, deadline)->Scan(collection, filter, sink);
}

void AcquireNext(Database& database, const Filter& filter, AcquireOp& op, Key& key,
                 Deadline deadline) {
  if (const char* const fault = FaultOfNext(op.grant)) return op.Fail(Errc::kRefused, fault);
  ExecuteAlone(database, op, deadline, [&](Unit& unit) -> std::optional<Change> {
    const bool none = filter.lock_state() == Filter::LockState::kLocked;
    std::optional<Change> change = none ? std::nullopt : TakeNext(unit, filter, op, key);
    if (!change) op.status = OpStatus::kMissing;
    return change;
  });
}

std::int64_t Purge(Database& database, Collection& collection, std::int64_t limit,
                   Deadline deadline) {
  const auto unit = database.Begin(Access::kWrite, deadline);
  std::vector<Key> keys;
  unit->ScanLocks(collection, {}, [&](Candidate&& candidate) {
    if (!candidate.malformed && rules::IsPurgeable(candidate.entry.lock, unit->Now())) {
      keys.push_back(std::move(candidate.key));
    }
    return static_cast<std::int64_t>(keys.size()) < std::min(limit, kPurgedAtOnce);
  });
  std::vector<Change> changes;
  for (const Key& key : keys) changes.emplace_back(collection, key);
  if (changes.empty()) return 0;
  unit->Load(changes);
  for (Change& change : changes) {
    const bool over = change.was != nullptr && rules::IsPurgeable(change.was->lock, unit->Now());
    if (over) rules::Purge(change.Edit().lock);
  }
  unit->Commit(changes);
  return std::count_if(changes.begin(), changes.end(),
                       [](const Change& change) { return change.outcome == OpStatus::kDone; });
}

LockPage ListLocks(Database& database, Collection& collection, const LockQuery& query,
                   const std::string&, Deadline deadline) {
  const auto unit = database.Begin(Access::kRead, deadline);
  LockPage page;
  unit->ScanLocks(collection, query, [&](Candidate&& candidate) {
    LockRow row;
    row.key = std::move(candidate.key);
    row.has_body = !TreeOf(candidate.entry.body).empty();
    row.malformed = row.live = candidate.malformed;
    if (!candidate.malformed) {
      rules::AddRows(page.rows, row, candidate.entry.lock, query, unit->Now());
    } else if (query.group.empty()) {
      page.rows.push_back(std::move(row));
    }
    return true;
  });
  return page;
}

}  // namespace doclock::locking
