#include "sqlite/unit.h"

#include <optional>
#include <utility>

#include "doclock/errors.h"
#include "document/json/row_filter.h"
#include "sqlite/db/database_error.h"
#include "sqlite/query/candidates.h"
#include "sqlite/tables/index_names.h"

namespace doclock::sqlite {
namespace {

using locking::Change;

const SqliteCollection& Ours(const Collection& collection) noexcept {
  return static_cast<const SqliteCollection&>(collection);
}

/// Stores the document's body, and returns its row; nothing if an index or the like refused it,
/// which is the change's outcome; no row has changed.
std::optional<std::int64_t> PutBody(Connection& connection, Change& change,
                                    const LoadedDocument* was) {
  const Body& body = change.now->body;
  if (was != nullptr && body.IsSameAs(was->body)) return was->id;
  const Running put(connection.Prepared(
      Ours(*change.collection).sql(was == nullptr ? Statements::kInsert : Statements::kPutBody)));
  was == nullptr ? put->Bind(1, *change.key) : put->Bind(1, was->id);
  put->Bind(2, std::string_view(body.text()));
  try {
    put->ChangeOne();
    return was == nullptr ? connection.LastRowId() : was->id;
  } catch (const DatabaseError& error) {
    // A trigger may have ended the transaction: then it is not about this statement alone.
    if (!error.is_about_values() || !connection.InTransaction()) throw;
    const std::string index = error.unique_index();
    if (index.empty()) {
      change.Fail(OpStatus::kFailed, Errc::kRefused, error.what());
    } else {
      change.RefuseBy(FieldsOfIndex(index));
    }
    return std::nullopt;
  }
}

}  // namespace

void Unit::Load(std::span<Change> documents) {
  loaded_.clear();
  for (Change& change : documents) {
    change.was = nullptr;
    change.malformed = false;
    std::unique_ptr<LoadedDocument> document =
        reader_->Find(Ours(*change.collection), *change.key, !change.lock_only);
    if (!document) continue;
    change.malformed = document->bad_column != nullptr;
    change.bad_part = document->bad_column;
    if (change.malformed) continue;
    change.was = document.get();
    loaded_.push_back(std::move(document));
  }
}

void Unit::Scan(Collection& collection, const Filter& filter,
                const std::function<bool(QueryRow&&)>& visit) {
  std::int64_t shown = 0;
  VisitCandidates(*connection_, *reader_, Ours(collection), filter, [&](sqlite::Candidate&& found) {
    const rules::LockState& lock = found.document.lock;
    const bool locked = reader_->IsLocked(found.document);
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
    : Unit(context), writer_(writer), turn_(writer, deadline), all_(all) {
  turn_.Begin(deadline);
  Begun(writer.connection());
}

WriteUnit::~WriteUnit() {
  if (joined_) connection_->SetHandlers();
  if (over_) return;
  if (changed_ || !writer_.End()) writer_.RollBack();
}

bool WriteUnit::Put(Change& change) {
  const auto* const was = static_cast<const LoadedDocument*>(change.was);
  const SqliteCollection& collection = Ours(*change.collection);
  const rules::LockState& lock = change.now ? change.now->lock : was->lock;
  if (change.erased) {
    connection_->Run(collection.sql(Statements::kErase), was->id);  // its lock goes with it
  } else {
    const auto id = PutBody(*connection_, change, was);
    if (!id) return false;
    if (was == nullptr || lock != was->lock) {
      PutLock(*connection_, collection, *id, lock, context_.era.number);
    }
  }
  if (change.notice == locking::Notice::kWaiters) {
    notifications_.push_back(
        {collection.tag(), change.hash, lock.passed_on.done ? lock.passed_on.instance : 0});
  }
  return true;
}

void WriteUnit::Commit(std::span<Change> changes) {
  changed_ = true;
  std::vector<Change*> put;
  for (Change& change : changes) {
    if (!change.IsDecided()) continue;
    if (Put(change)) {
      put.push_back(&change);
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
  for (Change* const change : put) change->outcome = OpStatus::kDone;
}

}  // namespace doclock::sqlite
