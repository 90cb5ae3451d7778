#include "sqlite/operations/unit.h"

#include <algorithm>
#include <utility>

#include "doclock/errors.h"
#include "document/json/row_filter.h"
#include "sqlite/db/database_error.h"
#include "sqlite/locks/lock_writer.h"
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

/// Does what is stored show what was decided?
bool Shows(const rules::LockState& stored, const rules::LockState& decided, TimePoint now) {
  const auto is_same = [](const auto& a, const auto& b) { return IsSame(a, b); };
  return stored.version == decided.version && stored.lock_id == decided.lock_id &&
         stored.released == decided.released && stored.intent.id == decided.intent.id &&
         stored.intent.until == decided.intent.until &&
         (!decided.IsLive(now) || stored.lease.End() == decided.lease.End()) &&
         std::equal(stored.queue.begin(), stored.queue.end(), decided.queue.begin(),
                    decided.queue.end(), is_same) &&
         std::is_permutation(stored.shares.begin(), stored.shares.end(), decided.shares.begin(),
                             decided.shares.end(), is_same);
}

const SqliteCollection& Ours(const Collection& collection) noexcept {
  return static_cast<const SqliteCollection&>(collection);
}

}  // namespace

void Unit::Load(std::span<Change> documents) {
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
    const StoredLock& lock = found.document.lock;
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

WriteUnit::WriteUnit(Writer& writer, const Surroundings& around, Deadline deadline)
    : Unit(around), writer_(writer), turn_(writer, deadline, deadline) {
  turn_.Begin();
  Begun(writer.connection());
}

WriteUnit::~WriteUnit() {
  if (over_) return;
  if (changed_ || !writer_.End()) writer_.RollBack();
}

void WriteUnit::Commit(std::span<Change> changes) {
  LockWriter writer(*connection_, around_, writer_.renewal_rows(), Now());
  changed_ = true;
  std::vector<Change*> put;
  for (Change& change : changes) {
    if (change.IsDecided() && writer.Put(change)) put.push_back(&change);
  }
  try {
    turn_.Commit();
  } catch (const DatabaseError& error) {
    writer_.RollBack();
    over_ = true;
    if (!put.empty()) Settle(*put.front(), error);
  }
  over_ = true;
  turn_.Announce(writer.notifications());
  for (Change* const change : put) change->outcome = OpStatus::kDone;
}

/// Called during the write turn, right after the commit: no other coordinated writer came between.
void WriteUnit::Settle(const Change& change, const DatabaseError& error) {
  Connection& connection = *connection_;
  // If the rollback failed too, this connection would take its own changes for committed ones.
  const bool looks = !connection.InTransaction();
  // A transaction that found no room on the disk is incomplete, and SQLite drops it. After other
  // errors all of it may stand in the log, and take effect if the log is read again, unless the
  // next transaction overwrites it.
  const bool gone = looks && (error.is_without_effect() || writer_.Overwrite());
  try {
    if (looks) {
      const auto document =
          LockReader(connection, around_).Find(Ours(*change.collection), *change.key);
      const bool there =
          change.erased ? document == nullptr
                        : document != nullptr && Shows(document->lock, change.now->lock, Now());
      if (there) return;
    }
  } catch (const DatabaseError&) {
    throw InDoubtException(error.what());
  }
  if (!gone) throw InDoubtException(error.what());
  throw DatabaseError(error);
}

}  // namespace doclock::sqlite
