#include "mongodb/unit/mongodb_unit.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mongodb/bson/body_codec.h"
#include "mongodb/layouts/layout_parts.h"
#include "mongodb/query/query.h"
#include "mongodb/statements/statements.h"
#include "mongodb/unit/execute.h"

namespace doclock::mongodb {

using locking::Document;
using std::chrono::milliseconds;

namespace {

/// Operation times are counted from the beginning of 2020, so that they fit into 63 bits for long.
constexpr std::int64_t kTokenEpoch = 1'577'836'800;

/// Rises with every write that the replica set has acknowledged. @throws StoreException if the
/// answer has none
std::int64_t OperationTime(const Reply& reply) {
  bson_iter_t at;
  if (!FindField(reply.doc(), "operationTime", at) || !BSON_ITER_HOLDS_TIMESTAMP(&at)) {
    throw StoreException(Errc::kRefused,
                         "doclock: MongoDB: the answer of the server has no operation time, which "
                         "makes the fence in a collection with a layout");
  }
  std::uint32_t seconds = 0, increment = 0;
  bson_iter_timestamp(&at, &seconds, &increment);
  return std::max<std::int64_t>(seconds - kTokenEpoch, 0) << 32 | increment;
}

/// The version of another library's lock, for the rules: they grant at the next one. Where a
/// document has none, it is the holder's own count.
std::int64_t VersionOf(const Document& document, std::int64_t stored, const Reply& reply) {
  const bool has_bodies = document.asked.collection->has_bodies();
  if (has_bodies && document.asked.expected != kAnyVersion) return document.asked.expected;
  // Between the grants before this look and those that come.
  const bool by_time = has_bodies || document.asked.acquires;
  return by_time ? std::max(stored, OperationTime(reply) - 1) : stored;
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

  [[nodiscard]] bool HasRoomFor(const Document& document, const Statement& statement) const {
    return verb == statement.verb &&
           documents.front()->asked.collection == document.asked.collection &&
           bytes + statement.doc.get()->len <= kMostCommandBytes;
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
  const bool is_theirs = LayoutOf(collection) != nullptr;
  if (is_theirs && moment_) RefuseFeature(collection, "joint reads");
  if (is_theirs && documents.front().asked.acquires) {
    for (Document& document : documents) LoadForAttempt(document);
    return;
  }
  const bool whole =
      is_theirs || std::any_of(documents.begin(), documents.end(),
                               [](const Document& document) { return !document.asked.lock_only; });
  std::vector<const Key*> keys;
  for (const Document& document : documents) keys.push_back(document.asked.key);
  Reply reply;
  // Confirmed: what a document does not show any more is the operation's result.
  const bool complete = operations_.Look(
      collection, keys, {.whole = whole, .moment = moment_ ? &*moment_ : nullptr},
      [&](std::size_t place, Operations::Shown&& shown) {
        Keep(documents[place], std::move(shown), whole, reply);
      },
      reply);
  spoilt_ = reply.outcome == Outcome::kRefused;  // by the rights to one of several collections
  Check(reply);
  if (!complete) throw StoreException(Errc::kUnavailable, "doclock: MongoDB: a look was not ended");
}

void MongodbUnit::LoadForAttempt(Document& document) {
  const Collection& collection = *document.asked.collection;
  const Layout& layout = *LayoutOf(collection);
  const bool makes = !collection.has_bodies();
  Doc command, sight;
  command.Add("findAndModify", std::string_view(collection.name()));
  command.Add("query", ByKey(layout, *document.asked.key));
  layout.AddLook(command);
  sight.Add("_id", 0).Add("doc", "$$ROOT").Add("now", "$$NOW");
  command.Add("upsert", makes).Add("new", true).Add("fields", sight);
  Reply reply;
  operations_.Write(command, reply);
  if (reply.outcome == Outcome::kDoubt) {
    // At most a document whose lock is free was made.
    throw StoreException(Errc::kUnavailable, "doclock: MongoDB: " + reply.text);
  }
  if (reply.is_duplicate()) throw locking::Raced();  // two that made the document
  Check(reply);
  bson_t value, doc;
  bson_iter_t at;
  if (!makes && !reply.Document("value", value)) return;  // it is missing
  if (!reply.Document("value", value) || !FindDocument(value, "doc", doc) ||
      !FindField(value, "now", at)) {
    throw StoreException(Errc::kUnavailable, "doclock: MongoDB: a look showed no document");
  }
  const std::int64_t now = bson_iter_date_time(&at);
  Keep(document, {ReadLock(doc, collection, now), doc, now}, true, reply);
}

void MongodbUnit::Keep(Document& document, Operations::Shown&& shown, bool whole,
                       const Reply& reply) {
  Loaded& loaded = loaded_.emplace_back();
  loaded.stored = std::move(shown.lock);
  document.loaded.malformed = loaded.stored.malformed();
  if (document.loaded.malformed) {
    document.loaded.bad_part = loaded.stored.bad_field.c_str();
    return;
  }
  const Collection& collection = *document.asked.collection;
  if (LayoutOf(collection) != nullptr) {
    loaded.stored.version = VersionOf(document, loaded.stored.version, reply);
  }
  loaded.lock = loaded.stored;
  if (whole) loaded.body = ReadBodyOf(shown.doc, collection);
  document.loaded.entry = &loaded;
}

void MongodbUnit::Scan(Collection& collection, const Filter& filter,
                       const std::function<bool(QueryRow&&)>& visit) {
  if (LayoutOf(collection) != nullptr) RefuseFeature(collection, "searches");
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

Statement MongodbUnit::StatementFor(const Document& document) {
  const Collection& collection = *document.asked.collection;
  const Key& key = *document.asked.key;
  const locking::Decision& decision = document.decision;
  const auto& [lock, body] = *decision.entry;
  if (document.loaded.entry == nullptr) {
    return {Verb::kInsert, NewDocument(collection, key, body, lock.born, lock.released)};
  }
  const auto& was = static_cast<const Loaded&>(*document.loaded.entry);
  const Body& base = decision.base != nullptr ? *decision.base : was.body;
  if (const Layout* const layout = LayoutOf(collection)) {
    const bson_t& seen = *was.stored.seen.get();
    Statement change = layout->Change(key, seen, was.stored, lock);
    if (collection.has_bodies() && !body.IsSameAs(was.body)) {
      change.doc =
          WithBody(change.doc, seen, *layout->beside_body(), TreeForBson(body), base.json());
    }
    return change;
  }
  return {decision.erased ? Verb::kDelete : Verb::kUpdate,
          StatementOf({.collection = collection,
                       .key = key,
                       .was = was.stored,
                       .now = lock,
                       .body = body,
                       .base = base,
                       .erases = decision.erased})};
}

void MongodbUnit::Commit(std::span<Document> documents) {
  std::vector<Writes> commands;
  spoilt_ = true;  // if a body cannot be put into BSON
  for (Document& document : documents) {
    if (!document.IsDecided()) continue;
    const Statement statement = StatementFor(document);
    if (commands.empty() || !commands.back().HasRoomFor(document, statement)) {
      commands.push_back({statement.verb});
    }
    Writes& writes = commands.back();
    writes.documents.push_back(&document);
    const Collection& collection = *document.asked.collection;
    statement.verb == Verb::kUpdate&& LayoutOf(collection) == nullptr
        ? writes.statements.Add(Told(statement.doc, collection))
        : writes.statements.Add(statement.doc);
    writes.bytes += statement.doc.get()->len;
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
  const bool is_theirs = LayoutOf(*writes.documents.front()->asked.collection) != nullptr;
  reply.Fits(writes.documents.size(), writes.verb != Verb::kDelete && !is_theirs);
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
      // It has met nothing, or a document. Of another library's the server does not tell which:
      // what was stored may be stored again.
      outcome.raced = reply.HasOwnError(i) || !reply.AccountsFor(writes.documents.size());
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
  const auto told = operations_.JudgeDeletes(
      *documents.front()->asked.collection, KeysOf(documents), done, {},
      [&](std::size_t place, const Operations::Shown& shown) {
        const Document& document = *documents[place];
        return LayoutOf(*document.asked.collection) != nullptr || IsUnmoved(document, shown);
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
