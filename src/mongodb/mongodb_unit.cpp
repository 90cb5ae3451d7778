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
using std::chrono::milliseconds;

namespace {

Verb VerbOf(const Change& change) noexcept {
  if (change.erased) return Verb::kDelete;
  return change.was == nullptr ? Verb::kInsert : Verb::kUpdate;
}

/// The server bounds its waits for a document and the write by one time, and a majority takes some.
milliseconds PatienceOf(const Change& change) {
  constexpr milliseconds kLeast{50};
  return std::max(Until(change.patience), kLeast);
}

}  // namespace

struct MongodbUnit::Writes {
  Verb verb;
  std::vector<Change*> changes{};
  Array statements{};
  std::uint32_t bytes = 0;

  [[nodiscard]] bool HasRoomFor(const Change& change, const Doc& statement) const noexcept {
    return verb == VerbOf(change) && changes.front()->collection == change.collection &&
           bytes + statement.get()->len <= kMostCommandBytes;
  }
};

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
  spoilt_ = reply.outcome == Outcome::kRefused;  // by the rights to one of several collections
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

void MongodbUnit::SeeOneMoment() {
  if (!server_.is_replica_set()) {
    throw StoreException(Errc::kRefused,
                         "MongoDB reads several documents at one moment in a replica set only");
  }
  moment_.emplace();
}

void MongodbUnit::Commit(std::span<Change> changes) {
  const auto of_loaded = [](const Change& change) {
    const auto& loaded = static_cast<const Loaded&>(*change.was);
    return LockChange{.collection = *change.collection,
                      .key = *change.key,
                      .was = loaded.stored,
                      .now = change.now->lock,
                      .body = change.now->body,
                      .base = change.base != nullptr ? *change.base : loaded.body,
                      .erases = change.erased};
  };
  std::vector<Writes> commands;
  spoilt_ = true;  // if a body cannot be put into BSON
  for (Change& change : changes) {
    if (!change.IsDecided()) continue;
    const rules::LockState& now = change.now->lock;
    Doc statement = change.was != nullptr ? StatementOf(of_loaded(change))
                                          : NewDocument(*change.collection, *change.key,
                                                        change.now->body, now.born, now.released);
    if (commands.empty() || !commands.back().HasRoomFor(change, statement)) {
      commands.push_back({VerbOf(change)});
    }
    Writes& writes = commands.back();
    writes.changes.push_back(&change);
    writes.statements.Add(statement);
    writes.bytes += statement.get()->len;
  }
  spoilt_ = false;
  // A foreign transaction may hold one of several documents: then there is time for the others.
  const milliseconds limit = changes.size() == 1
                                 ? std::min(operations_.left(), PatienceOf(changes.front()))
                                 : operations_.left() / 4;
  for (const Writes& writes : commands) Send(writes, limit, commands.size() == 1);
  if (changes.size() == 1 && changes.front().raced) throw locking::Raced();
}

void MongodbUnit::Send(const Writes& writes, milliseconds limit, bool is_only) {
  Doc command =
      CommandOf(writes.verb, *writes.changes.front()->collection, writes.statements, false);
  Reply reply;
  operations_.Within(limit).Write(command, reply);
  reply.Fits(writes.changes.size());
  const bool several = writes.changes.size() > 1;
  // The command has ended.
  const bool stopped = several && reply.ran_out_of_time();
  const std::int64_t done = reply.Integer("n");
  if (is_only && !stopped) {
    Check(reply);
    spoilt_ = several;  // by a statement's own error
    for (std::size_t i = 0; i < writes.changes.size() && done == 0; ++i) Check(reply.Of(i));
    spoilt_ = false;
  }
  std::vector<Change*> open;
  for (std::size_t i = 0; i < writes.changes.size(); ++i) {
    Change& change = *writes.changes[i];
    const CommandResult& result = reply.Of(i);
    if (result.is_duplicate() && result.duplicate == "_id") {
      change.raced = true;  // another client has made it
    } else if (stopped || !Settled(result, *change.collection, change.outcome, change.detail)) {
      change.outcome = OpStatus::kDone;
      open.push_back(&change);
    }
  }
  if (open.empty() || (!stopped && done >= static_cast<std::int64_t>(open.size()))) return;
  if (several) return TellApart(open, stopped ? std::nullopt : std::optional(done));
  open.front()->outcome = OpStatus::kPending;
  open.front()->raced = true;
}

bool MongodbUnit::IsStored(const Change& change, const Operations::Shown& shown) {
  const rules::LockState& now = change.now->lock;
  if (change.was == nullptr) return shown.lock.born == now.born;
  return ShowsChange(shown.lock, {.was = change.was->lock, .now = now});
}

bool MongodbUnit::IsUnmoved(const Change& change, const Operations::Shown& shown) {
  if (change.was == nullptr || change.outcome == OpStatus::kDone) return false;
  const auto& was = static_cast<const Loaded&>(*change.was);
  return bson_equal(shown.lock.seen.get(), was.stored.seen.get());
}

void MongodbUnit::TellApart(std::span<Change* const> changes, std::optional<std::int64_t> done) {
  std::vector<const Key*> keys;
  for (Change* const change : changes) {
    keys.push_back(change->key);
    change->outcome = change->erased ? OpStatus::kDone : OpStatus::kPending;
  }
  Reply reply;
  const bool complete = operations_.Look(
      *changes.front()->collection, keys, {},
      [&](std::size_t place, Operations::Shown&& shown) {
        Change& change = *changes[place];
        change.outcome =
            !change.erased && IsStored(change, shown) ? OpStatus::kDone : OpStatus::kPending;
        change.blocked = !done && IsUnmoved(change, shown);
        change.raced = done && IsUnmoved(change, shown);
      },
      reply);
  const auto shown = std::count_if(changes.begin(), changes.end(), [](const Change* change) {
    return change->outcome == OpStatus::kDone;
  });
  for (Change* const change : changes) {
    // What is missing may be erased by this, or by another client.
    const bool is_done = change->outcome == OpStatus::kDone && (!change->erased || done == shown);
    if (complete && (is_done || change->blocked || change->raced)) continue;
    change->raced = complete && (change->erased ? done == 0 : done == shown);
    if (change->raced) {
      change->outcome = OpStatus::kPending;
      continue;
    }
    change->Fail(OpStatus::kInDoubt, Errc::kInDoubt, "whether the write was done is not known");
  }
}

}  // namespace doclock::mongodb
