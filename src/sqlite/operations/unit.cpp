#include "sqlite/operations/unit.h"

#include <algorithm>
#include <utility>

#include "doclock/errors.h"
#include "document/json/row_filter.h"
#include "sqlite/db/database_error.h"
#include "sqlite/locks/lock_writer.h"
#include "sqlite/operations/short_cuts.h"
#include "sqlite/query/candidates.h"

namespace doclock::sqlite {
namespace {

using locking::Change;

bool IsSame(const rules::QueueEntry& a, const rules::QueueEntry& b) noexcept {
  return a.id == b.id && a.until == b.until;
}

bool IsSame(const rules::Share& a, const rules::Share& b) noexcept {
  return a.id == b.id && a.lease.End() == b.lease.End();
}

/// Are the live ones of these among those?
bool HasLiveOf(const std::vector<rules::Share>& those, const std::vector<rules::Share>& these,
               TimePoint now) {
  return std::all_of(these.begin(), these.end(), [&](const rules::Share& share) {
    const auto is_it = [&](const rules::Share& each) { return IsSame(each, share); };
    return !share.lease.IsLive(now) || std::any_of(those.begin(), those.end(), is_it);
  });
}

/// Does what is stored show what was decided?
bool Shows(const rules::LockState& stored, const rules::LockState& decided, TimePoint now) {
  const auto is_same = [](const auto& a, const auto& b) { return IsSame(a, b); };
  return stored.version == decided.version && stored.lock_id == decided.lock_id &&
         stored.released == decided.released &&
         (!decided.IsLive(now) || stored.lease.End() == decided.lease.End()) &&
         std::equal(stored.queue.begin(), stored.queue.end(), decided.queue.begin(),
                    decided.queue.end(), is_same) &&
         HasLiveOf(stored.shares, decided.shares, now) &&
         HasLiveOf(decided.shares, stored.shares, now);
}

const SqliteCollection& Ours(const Collection& collection) noexcept {
  return static_cast<const SqliteCollection&>(collection);
}

}  // namespace

void Unit::Load(std::span<Change> documents) {
  loaded_.clear();
  for (Change& change : documents) {
    std::unique_ptr<LoadedDocument> document = reader_->Find(Ours(*change.collection), *change.key);
    if (!document) continue;
    change.malformed = document->malformed;
    change.bad_part = document->bad_part;
    if (change.malformed) continue;
    change.was = document.get();
    loaded_.push_back(std::move(document));
  }
}

void Unit::Scan(Collection& collection, const Filter& filter,
                const std::function<bool(QueryRow&&)>& visit) {
  std::int64_t shown = 0;
  VisitCandidates(*connection_, Ours(collection), filter, [&](sqlite::Candidate&& found) {
    const LockColumns& lock = found.document.lock;
    const bool locked = reader_->IsLocked(Ours(collection), lock);
    if (!StateMatches(filter, locked)) return true;
    QueryRow row{std::move(found.key), std::move(found.document.body), lock.version, lock.born,
                 locked};
    return visit(std::move(row)) && ++shown != filter.limit();
  });
}

std::string Unit::ScanLocks(Collection& collection, const LockQuery& query,
                            const std::string& after,
                            const std::function<bool(locking::Candidate&&)>& visit) {
  return reader_->ScanLocks(Ours(collection), query, after, visit);
}

WriteUnit::WriteUnit(Writer& writer, const StoreContext& context, Deadline deadline, bool all)
    : Unit(context), writer_(writer), turn_(writer, deadline, deadline), all_(all) {
  turn_.Begin();
  Begun(writer.connection());
}

WriteUnit::~WriteUnit() {
  if (joined_) connection_->SetHandlers();
  if (over_) return;
  if (changed_ || !writer_.End()) writer_.RollBack();
}

bool WriteUnit::Try(StoreOp& op) {
  const bool had_changed = std::exchange(changed_, true);
  ShortCuts short_cuts(*connection_, context_, writer_.renewal_rows(), Now(), notifications_);
  const bool done = short_cuts.Try(op);
  changed_ = had_changed || done;
  if (done) tried_ = &op;
  return done;
}

void WriteUnit::Commit(std::span<Change> changes) {
  changed_ = true;
  LockWriter writer(*connection_, context_, writer_.renewal_rows(), Now(), notifications_);
  std::vector<Change*> put;
  for (Change& change : changes) {
    if (!change.IsDecided()) continue;
    if (writer.Put(change)) {
      put.push_back(&change);
    } else if (all_) {
      return;  // its destructor rolls back
    }
  }
  over_ = true;
  try {
    turn_.Commit();
  } catch (const DatabaseError& error) {
    writer_.RollBack();
    Settle(error, put.empty() ? nullptr : put.front());
  } catch (...) {
    writer_.RollBack();
    throw;
  }
  turn_.Announce(notifications_);
  for (Change* const change : put) change->outcome = OpStatus::kDone;
}

void WriteUnit::Settle(const DatabaseError& error, const Change* change) {
  // If the rollback failed too, this connection would take its own changes for committed ones.
  const bool looks = !connection_->InTransaction();
  // A transaction that found no room on the disk is incomplete, and SQLite drops it. After other
  // errors all of it may stand in the log, and take effect if the log is read again, unless the
  // next transaction overwrites it.
  const bool gone = looks && (error.is_without_effect() || writer_.Overwrite());
  try {
    if (looks && IsStored(change)) return;
  } catch (const DatabaseError&) {
    throw InDoubtException(error.what());
  }
  if (!gone) throw InDoubtException(error.what());
  throw DatabaseError(error);
}

/// Called during the write turn: no other coordinated writer came between. One change tells of all.
bool WriteUnit::IsStored(const Change* change) {
  LockReader reader(*connection_, context_);
  const auto find = [&](const Collection& collection, const Key& key) {
    return reader.Find(Ours(collection), key);
  };
  if (change == nullptr) {
    if (tried_ == nullptr) return true;
    return ShortCuts::Shows(find(*tried_->collection, *tried_->key).get(), *tried_, Now());
  }
  const auto document = find(*change->collection, *change->key);
  if (change->erased) return document == nullptr;
  return document != nullptr && Shows(document->lock, change->now->lock, Now());
}

}  // namespace doclock::sqlite
