#include "sqlite/unit.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "doclock/errors.h"
#include "sqlite/db/database_error.h"
#include "sqlite/query/search.h"
#include "sqlite/tables/index_names.h"

namespace doclock::sqlite {
namespace {

using locking::Document;

/// Whether the lock outlives its holders: it is detached, or their end is not seen here.
bool Lasts(const rules::LockState& lock, const ProcessCoordinator& coordinator) {
  const auto lasts = [&](const rules::Lease& lease) {
    return coordinator.Look(lease.instance) == Liveness::kUnknown;
  };
  return lock.HasLockId() &&
         (lasts(lock.lease) || std::ranges::any_of(lock.shares, lasts, &rules::Share::lease));
}

/// Whether a decision changes what outlives the processes of this machine: a document, a lock that
/// lasts, a min_hold. Then its commit is flushed. All else says only who of the living holds what,
/// and is over when they are: a power cut may undo it.
bool OutlivesProcesses(const Document& document, const ProcessCoordinator& coordinator) {
  const auto& entry = document.decision.entry;
  const locking::Entry* const was = document.loaded.entry;
  if (document.decision.erased || (entry && was == nullptr)) return true;
  return entry &&
         (!entry->body.IsSameAs(was->body) || entry->lock.closed_until != was->lock.closed_until ||
          Lasts(was->lock, coordinator) || Lasts(entry->lock, coordinator));
}

const SqliteCollection& Ours(const Collection& collection) noexcept {
  return static_cast<const SqliteCollection&>(collection);
}

/// Stores the document's body, and returns its row; nothing if an index or the like refused it,
/// which is its outcome; no row has changed.
std::optional<std::int64_t> PutBody(Connection& connection, Document& document,
                                    const LoadedDocument* was) {
  const Body& body = document.decision.entry->body;
  if (was != nullptr && body.IsSameAs(was->body)) return was->id;
  const Running put(
      connection.Prepared(Ours(*document.asked.collection)
                              .sql(was == nullptr ? Statements::kInsert : Statements::kPutBody)));
  was == nullptr ? put->Bind(1, *document.asked.key) : put->Bind(1, was->id);
  put->Bind(2, std::string_view(body.text()));
  try {
    put->ChangeOne();
    return was == nullptr ? connection.LastRowId() : was->id;
  } catch (const DatabaseError& error) {
    // A trigger may have ended the transaction: then it is not about this statement alone.
    if (!error.is_about_values() || !connection.InTransaction()) throw;
    const std::string index = error.unique_index();
    if (index.empty()) {
      document.outcome.Fail(OpStatus::kFailed, Errc::kRefused, error.what());
    } else {
      document.outcome.RefuseBy(FieldsOfIndex(index));
    }
    return std::nullopt;
  }
}

}  // namespace

void Unit::Load(std::span<Document> documents) {
  loaded_.clear();
  for (Document& document : documents) {
    const locking::Asked& asked = document.asked;
    document.loaded = {};
    std::unique_ptr<LoadedDocument> found =
        reader_->Find(Ours(*asked.collection), *asked.key, !asked.lock_only);
    if (!found) continue;
    document.loaded.malformed = found->bad_column != nullptr;
    document.loaded.bad_part = found->bad_column;
    if (document.loaded.malformed) continue;
    document.loaded.entry = found.get();
    loaded_.push_back(std::move(found));
  }
}

void Unit::Scan(Collection& collection, const Filter& filter,
                const std::function<bool(QueryRow&&)>& visit) {
  Search(*connection_, *reader_, Ours(collection), filter, visit);
}

std::string Unit::ScanLocks(Collection& collection, const LockQuery& query,
                            const std::string& after,
                            const std::function<bool(locking::Candidate&&)>& visit) {
  return reader_->ScanLocks(Ours(collection), query, after, visit);
}

WriteUnit::WriteUnit(Writer& writer, const StoreContext& context, Deadline deadline, bool all)
    : Unit(context), writer_(writer), turn_(writer, deadline), all_(all) {
  turn_.Begin(deadline, /*flush=*/all);
  Begun(writer.connection());
}

WriteUnit::~WriteUnit() {
  if (joined_) connection_->SetHandlers();
  if (over_) return;
  if (changed_ || !writer_.End()) writer_.RollBack();
}

bool WriteUnit::Put(Document& document) {
  const auto* const was = static_cast<const LoadedDocument*>(document.loaded.entry);
  const SqliteCollection& collection = Ours(*document.asked.collection);
  const rules::LockState& lock =
      document.decision.entry ? document.decision.entry->lock : was->lock;
  if (document.decision.erased) {
    connection_->Run(collection.sql(Statements::kErase), was->id);  // its lock goes with it
  } else {
    const auto id = PutBody(*connection_, document, was);
    if (!id) return false;
    if (was == nullptr || lock != was->lock) {
      PutLock(*connection_, collection, *id, lock, context_.era.number);
    }
  }
  if (document.decision.notice == locking::Notice::kWaiters) {
    notifications_.push_back(
        {collection.tag(), document.asked.hash, lock.passed_on.done ? lock.passed_on.instance : 0});
  }
  return true;
}

void WriteUnit::Commit(std::span<Document> documents) {
  const auto lasts = [this](const Document& document) {
    return OutlivesProcesses(document, context_.coordinator);
  };
  if (turn_.MayNeedFlush() && std::ranges::any_of(documents, lasts)) turn_.NeedFlush();
  changed_ = true;
  std::vector<Document*> put;
  for (Document& document : documents) {
    if (!document.IsDecided()) continue;
    if (Put(document)) {
      put.push_back(&document);
    } else if (all_) {
      return;  // its destructor rolls back
    }
  }
  over_ = true;
  try {
    turn_.Commit();
  } catch (const DatabaseError& error) {
    // A COMMIT that leaves the transaction open has not begun: a deferred constraint forbids it.
    const bool refused = connection_->InTransaction();
    writer_.RollBack();
    if (refused || error.is_without_effect()) throw;
    throw InDoubtException(error.what());
  } catch (...) {
    writer_.RollBack();
    throw;
  }
  turn_.Announce(notifications_);
  for (Document* const document : put) document->outcome.status = OpStatus::kDone;
}

}  // namespace doclock::sqlite
