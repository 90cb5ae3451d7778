#include "mongodb/mongodb_unit.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mongodb/admin/scan_locks.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/bson/lock_fields.h"
#include "mongodb/protocol/lock_change.h"
#include "mongodb/protocol/write_command.h"
#include "mongodb/query/query.h"

namespace doclock::mongodb {

using locking::Change;

namespace {

void Fail(Change& change, OpStatus outcome, const char* text) {
  change.outcome = outcome;
  change.detail = std::make_unique<OpDetail>();
  change.detail->message = text;
}

/// Does the document show what was to be stored?
bool Shows(const StoredLock& lock, const rules::LockState& stored) noexcept {
  return lock.lock_id == stored.lock_id && lock.version == stored.version &&
         lock.born == stored.born && lock.released == stored.released;
}

}  // namespace

MongodbUnit::MongodbUnit(Server& server, locking::Access access, Deadline deadline)
    : server_(server), access_(access), deadline_(deadline), operations_(server, Until(deadline)) {}

void MongodbUnit::Load(std::span<Change> documents) {
  loaded_.clear();
  while (!documents.empty()) {
    const auto other = std::find_if(documents.begin(), documents.end(), [&](const Change& change) {
      return change.collection != documents.front().collection;
    });
    const auto some = documents.first(static_cast<std::size_t>(other - documents.begin()));
    LoadSome(some);
    documents = documents.subspan(some.size());
  }
}

void MongodbUnit::LoadSome(std::span<Change> documents) {
  const Collection& collection = *documents.front().collection;
  const bool whole = std::any_of(documents.begin(), documents.end(),
                                 [](const Change& document) { return !document.lock_only; });
  std::vector<const Key*> keys;
  for (const Change& document : documents) keys.push_back(document.key);
  Reply reply;
  // Confirmed: what a document does not show any more is the operation's result.
  const bool complete = operations_.Look(
      collection, keys, {.whole = whole, .moment = moment_ ? &*moment_ : nullptr},
      [&](std::size_t place, Operations::Shown&& shown) {
        const Loaded& loaded = Keep(std::move(shown), collection, whole);
        Change& document = documents[place];
        document.malformed = loaded.stored.malformed();
        document.bad_part = document.malformed ? loaded.stored.bad_field.c_str() : nullptr;
        document.was = document.malformed ? nullptr : &loaded;
      },
      reply);
  Check(reply);
  if (!complete) throw StoreException(Errc::kUnavailable, "doclock: MongoDB: a look was not ended");
}

const MongodbUnit::Loaded& MongodbUnit::Keep(Operations::Shown&& shown,
                                             const Collection& collection, bool whole) {
  Loaded& loaded = loaded_.emplace_back();
  loaded.stored = std::move(shown.lock);
  if (loaded.stored.malformed()) return loaded;
  loaded.lock = loaded.stored;
  if (whole) loaded.body = Body::FromJson(ReadBody(shown.doc, collection.fields()));
  if (access_ == locking::Access::kRead) return loaded;
  for (const std::string* const field : LockFields(collection.fields())) {
    bson_iter_t value;
    if (FindField(shown.doc, *field, value)) loaded.seen.Add(*field, *bson_iter_value(&value));
  }
  return loaded;
}

void MongodbUnit::Scan(Collection& collection, const Filter& filter,
                       const std::function<bool(QueryRow&&)>& visit) {
  Query(server_, collection, filter, visit, Until(deadline_));
}

std::string MongodbUnit::ScanLocks(Collection& collection, const LockQuery& query,
                                   const std::string& after,
                                   const std::function<bool(locking::Candidate&&)>& visit) {
  return mongodb::ScanLocks(operations_, collection, {query}, after, visit);
}

std::string MongodbUnit::ScanOver(Collection& collection, const std::string& after,
                                  const std::function<bool(locking::Candidate&&)>& visit) {
  return mongodb::ScanLocks(operations_, collection, {{}, true}, after, visit);
}

Doc MongodbUnit::StatementOf(const Change& change) {
  const locking::Entry& now = *change.now;
  if (change.was == nullptr) {
    return NewDocument(*change.collection, *change.key, now.body, now.lock.born, now.lock.released);
  }
  const auto& loaded = static_cast<const Loaded&>(*change.was);
  return mongodb::StatementOf({.collection = *change.collection,
                               .key = *change.key,
                               .was = loaded.stored,
                               .seen = *loaded.seen.get(),
                               .now = now.lock,
                               .body = now.body,
                               .base = change.base != nullptr ? *change.base : loaded.body,
                               .erases = change.erased});
}

void MongodbUnit::CommitOne(Change& change) {
  const Verb verb = change.erased           ? Verb::kDelete
                    : change.was == nullptr ? Verb::kInsert
                                            : Verb::kUpdate;
  Doc command = CommandOf(verb, *change.collection, Array().Add(StatementOf(change)), true);
  Reply reply;
  operations_.Write(command, reply);
  const CommandResult& result = Single(reply);
  Check(result);
  if (result.is_duplicate() && result.duplicate != "_id") {
    change.RefuseBy(result.duplicate);
  } else if (reply.Integer("n") == 0) {
    throw locking::Raced();
  } else {
    change.outcome = OpStatus::kDone;
  }
}

void MongodbUnit::Commit(std::span<Change> changes) {
  if (changes.size() == 1) return CommitOne(changes.front());
  std::vector<Change*> decided;
  Array statements;
  for (Change& change : changes) {
    if (!change.IsDecided()) continue;
    statements.Add(StatementOf(change));
    decided.push_back(&change);
  }
  Doc command = CommandOf(Verb::kUpdate, *decided.front()->collection, statements, false);
  Reply reply;
  operations_.Write(command, reply);
  Check(reply);
  const std::int64_t done = reply.Integer("n");
  if (done == 0) {
    for (std::size_t i = 0; i < decided.size(); ++i) Check(reply.Of(i));
    throw locking::Raced();
  }
  for (Change* const change : decided) change->outcome = OpStatus::kDone;
  if (done < static_cast<std::int64_t>(decided.size())) Settle(decided, done);
}

void MongodbUnit::Settle(std::span<Change* const> changes, std::int64_t done) {
  std::vector<const Key*> keys;
  for (Change* const change : changes) {
    keys.push_back(change->key);
    Fail(*change, OpStatus::kFailed, "other clients were quicker");
  }
  std::int64_t seem_done = 0;
  Reply reply;
  const bool complete = operations_.Look(
      *changes.front()->collection, keys, {},
      [&](std::size_t place, Operations::Shown&& shown) {
        if (!Shows(shown.lock, changes[place]->now->lock)) return;
        changes[place]->outcome = OpStatus::kDone;
        ++seem_done;
      },
      reply);
  if (complete && seem_done == done) return;
  // Another client has stored the same in one of them, or has changed one again.
  for (Change* const change : changes) {
    Fail(*change, OpStatus::kInDoubt, "whether the write was done is not known");
  }
}

}  // namespace doclock::mongodb
