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

using locking::Document;
using std::chrono::milliseconds;

namespace {

Verb VerbOf(const Document& document) noexcept {
  if (document.decision.erased) return Verb::kDelete;
  return document.loaded.entry == nullptr ? Verb::kInsert : Verb::kUpdate;
}

/// The server bounds its waits for a document and the write by one time, and a majority takes some.
milliseconds PatienceOf(const Document& document) {
  constexpr milliseconds kLeast{50};
  return std::max(Until(document.asked.patience), kLeast);
}

}  // namespace

struct MongodbUnit::Writes {
  Verb verb;
  std::vector<Document*> documents{};
  Array statements{};
  std::uint32_t bytes = 0;

  [[nodiscard]] bool HasRoomFor(const Document& document, const Doc& statement) const noexcept {
    return verb == VerbOf(document) &&
           documents.front()->asked.collection == document.asked.collection &&
           bytes + statement.get()->len <= kMostCommandBytes;
  }
};

MongodbUnit::MongodbUnit(Server& server, Deadline deadline)
    : server_(server), deadline_(deadline), operations_(server, Until(deadline)) {}

void MongodbUnit::Load(std::span<Document> documents) {
  loaded_.clear();
  while (!documents.empty()) {
    const auto other =
        std::find_if(documents.begin(), documents.end(), [&](const Document& document) {
          return document.asked.collection != documents.front().asked.collection;
        });
    const auto some = documents.first(static_cast<std::size_t>(other - documents.begin()));
    LoadSome(some);
    documents = documents.subspan(some.size());
  }
}

void MongodbUnit::LoadSome(std::span<Document> documents) {
  const Collection& collection = *documents.front().asked.collection;
  const bool whole = std::any_of(documents.begin(), documents.end(), [](const Document& document) {
    return !document.asked.lock_only;
  });
  std::vector<const Key*> keys;
  for (const Document& document : documents) keys.push_back(document.asked.key);
  Reply reply;
  // Confirmed: what a document does not show any more is the operation's result.
  const bool complete = operations_.Look(
      collection, keys, {.whole = whole, .moment = moment_ ? &*moment_ : nullptr},
      [&](std::size_t place, Operations::Shown&& shown) {
        const Loaded& loaded = Keep(std::move(shown), collection, whole);
        Document& document = documents[place];
        document.loaded.malformed = loaded.stored.malformed();
        document.loaded.bad_part =
            document.loaded.malformed ? loaded.stored.bad_field.c_str() : nullptr;
        document.loaded.entry = document.loaded.malformed ? nullptr : &loaded;
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

void MongodbUnit::Commit(std::span<Document> documents) {
  const auto of_loaded = [](const Document& document) {
    const auto& loaded = static_cast<const Loaded&>(*document.loaded.entry);
    const locking::Decision& decision = document.decision;
    return LockChange{.collection = *document.asked.collection,
                      .key = *document.asked.key,
                      .was = loaded.stored,
                      .now = decision.entry->lock,
                      .body = decision.entry->body,
                      .base = decision.base != nullptr ? *decision.base : loaded.body,
                      .erases = decision.erased};
  };
  std::vector<Writes> commands;
  spoilt_ = true;  // if a body cannot be put into BSON
  for (Document& document : documents) {
    if (!document.IsDecided()) continue;
    const auto& [lock, body] = *document.decision.entry;
    Doc statement = document.loaded.entry != nullptr
                        ? StatementOf(of_loaded(document))
                        : NewDocument(*document.asked.collection, *document.asked.key, body,
                                      lock.born, lock.released);
    if (commands.empty() || !commands.back().HasRoomFor(document, statement)) {
      commands.push_back({VerbOf(document)});
    }
    Writes& writes = commands.back();
    writes.documents.push_back(&document);
    writes.verb == Verb::kUpdate
        ? writes.statements.Add(Told(statement, *document.asked.collection))
        : writes.statements.Add(statement);
    writes.bytes += statement.get()->len;
  }
  spoilt_ = false;
  // A foreign transaction may hold one of several documents: then there is time for the others.
  const milliseconds limit = documents.size() == 1
                                 ? std::min(operations_.left(), PatienceOf(documents.front()))
                                 : operations_.left() / 4;
  for (const Writes& writes : commands) Send(writes, limit, commands.size() == 1);
  if (documents.size() == 1 && documents.front().outcome.raced) throw locking::Raced();
}

void MongodbUnit::Send(const Writes& writes, milliseconds limit, bool is_only) {
  Doc command =
      CommandOf(writes.verb, *writes.documents.front()->asked.collection, writes.statements, false);
  Reply reply;
  operations_.Within(limit).Write(command, reply);
  reply.Fits(writes.documents.size(), writes.verb != Verb::kDelete);
  const bool several = writes.documents.size() > 1;
  // The command has ended.
  const bool stopped = several && reply.ran_out_of_time();
  const std::int64_t done = reply.Integer("n");
  if (is_only && !stopped) {
    Check(reply);
    spoilt_ = several;  // by a statement's own error
    for (std::size_t i = 0; i < writes.documents.size() && done == 0; ++i) Check(reply.Of(i));
    spoilt_ = false;
  }
  if (stopped) return JudgeStopped(writes.documents);
  std::vector<Document*> deleted;
  for (std::size_t i = 0; i < writes.documents.size(); ++i) {
    Document& document = *writes.documents[i];
    locking::Outcome& outcome = document.outcome;
    if (Settled(reply.Of(i), *document.asked.collection, outcome.status, outcome.detail)) continue;
    if (writes.verb == Verb::kDelete) {
      deleted.push_back(&document);
    } else {
      outcome.raced = reply.HasOwnError(i);  // it has met nothing, or a document
      outcome.status = outcome.raced ? OpStatus::kPending : OpStatus::kDone;
    }
  }
  if (!deleted.empty()) JudgeDeletes(deleted, done);
}

bool MongodbUnit::IsUnmoved(const Document& document, const Operations::Shown& shown) {
  if (document.loaded.entry == nullptr) return false;
  const auto& was = static_cast<const Loaded&>(*document.loaded.entry);
  return bson_equal(shown.lock.seen.get(), was.stored.seen.get());
}

namespace {

void Doubt(Document& document) {
  document.outcome.Fail(OpStatus::kInDoubt, Errc::kInDoubt,
                        "whether the write was done is not known");
}

std::vector<const Key*> KeysOf(std::span<Document* const> documents) {
  std::vector<const Key*> keys;
  for (const Document* const document : documents) keys.push_back(document->asked.key);
  return keys;
}

}  // namespace

void MongodbUnit::JudgeStopped(std::span<Document* const> documents) {
  Reply reply;
  operations_.Look(
      *documents.front()->asked.collection, KeysOf(documents), {},
      [&](std::size_t place, Operations::Shown&& shown) {
        documents[place]->outcome.blocked = IsUnmoved(*documents[place], shown);
      },
      reply);
  for (Document* const document : documents) {
    if (!document->outcome.blocked) Doubt(*document);
  }
}

void MongodbUnit::JudgeDeletes(std::span<Document* const> documents, std::int64_t done) {
  const auto told =
      operations_.JudgeDeletes(*documents.front()->asked.collection, KeysOf(documents), done, {},
                               [&](std::size_t place, const Operations::Shown& shown) {
                                 return IsUnmoved(*documents[place], shown);
                               });
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (!told[i]) {
      Doubt(*documents[i]);
    } else if (*told[i]) {
      documents[i]->outcome.status = OpStatus::kDone;
    } else {
      documents[i]->outcome.raced = true;
    }
  }
}

}  // namespace doclock::mongodb
