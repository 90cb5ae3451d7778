#include "mongodb/mongodb_unit.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mongodb/admin/scan_locks.h"
#include "mongodb/protocol/lock_change.h"
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

MongodbUnit::Loaded::Loaded(StoredLock&& found, const bson_t& doc) : stored(std::move(found)) {
  lock = stored;
  bson_concat(seen.get(), &doc);
}

MongodbUnit::MongodbUnit(Server& server, Deadline deadline)
    : server_(server), deadline_(deadline), operations_(server, Until(deadline)) {}

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
  std::vector<const Key*> keys;
  for (const Change& document : documents) keys.push_back(document.key);
  Reply reply;
  // Confirmed: what a document does not show any more is the operation's result.
  const bool complete = operations_.Look(
      *documents.front().collection, keys, Array(), Operations::Sees::kConfirmed,
      [&](std::size_t place, Operations::Shown&& shown) {
        const Loaded& loaded = loaded_.emplace_back(std::move(shown.lock), shown.doc);
        Change& document = documents[place];
        document.malformed = loaded.stored.malformed();
        document.bad_part = document.malformed ? loaded.stored.bad_field.c_str() : nullptr;
        document.was = document.malformed ? nullptr : &loaded;
      },
      reply);
  Check(reply);
  if (!complete) throw StoreException(Errc::kUnavailable, "doclock: MongoDB: a look was not ended");
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

void MongodbUnit::Commit(std::span<Change> changes) {
  std::vector<Change*> decided;
  Array statements;
  for (Change& change : changes) {
    if (!change.IsDecided()) continue;
    const auto& loaded = static_cast<const Loaded&>(*change.was);
    statements.Add(StatementOf(
        {*change.collection, *change.key, loaded.stored, *loaded.seen.get(), change.now->lock}));
    decided.push_back(&change);
  }
  Doc command;
  command.Add("update", std::string_view(decided.front()->collection->name()));
  command.AddArray("updates", statements.doc()).Add("ordered", false);
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
      *changes.front()->collection, keys, Array(), Operations::Sees::kConfirmed,
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
