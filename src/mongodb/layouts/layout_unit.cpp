#include "mongodb/layouts/layout_unit.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "mongodb/bson/body_codec.h"
#include "mongodb/bson/uuids.h"
#include "mongodb/layouts/body_change.h"
#include "mongodb/layouts/layout_parts.h"

namespace doclock::mongodb {

using locking::Document;

namespace {

constexpr std::int64_t kLayoutPage = 1000;
/// Operation times are counted from the beginning of 2020, so that they fit into 63 bits for long.
constexpr std::int64_t kTokenEpoch = 1'577'836'800;

/// All documents have this incarnation: theirs tell none.
constexpr Uuid kBorn{{1}};

/// What a look shows: the document, and the time of the server's clock.
Doc Sight() {
  Doc fields;
  fields.Add("_id", 0).Add("doc", "$$ROOT").Add("now", "$$NOW");
  return fields;
}

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

Body NoBody() {
  // Never destroyed: stores may be used while the process ends.
  static const Body& nothing = *new Body(Body::FromText("{}"));
  return nothing;
}

}  // namespace

LayoutUnit::Loaded& LayoutUnit::Show(Document& document, const bson_t& doc, std::int64_t now) {
  Loaded& loaded = loaded_.emplace_back();
  const Layout& layout = LayoutOf(*document.asked.collection);
  loaded.lock = layout.Read(doc, now, loaded.bad_field);
  loaded.lock.born = kBorn;
  const LockFieldNames* const fields = layout.beside_body();
  loaded.body = fields == nullptr ? NoBody() : Body::FromJson(ReadBody(doc, *fields));
  bson_concat(loaded.seen.get(), &doc);
  document.loaded.malformed = !loaded.bad_field.empty();
  document.loaded.bad_part = document.loaded.malformed ? loaded.bad_field.c_str() : nullptr;
  document.loaded.entry = document.loaded.malformed ? nullptr : &loaded;
  return loaded;
}

void LayoutUnit::Load(std::span<Document> documents) {
  loaded_.clear();
  std::vector<const Key*> keys;
  std::vector<Document*> others;
  for (Document& document : documents) {
    if (document.asked.acquires) {
      LoadForAttempt(document);
    } else {
      keys.push_back(document.asked.key);
      others.push_back(&document);
    }
  }
  if (keys.empty()) return;
  Reply reply;
  // Confirmed: what a document does not show any more is the operation's result.
  const bool complete = operations_.Look(
      *documents.front().asked.collection, keys,
      {.whole = true, .key_field = LayoutOf(*documents.front().asked.collection).key_field()},
      [&](std::size_t place, Operations::Shown&& shown) {
        Show(*others[place], shown.doc, shown.now);
      },
      reply);
  Check(reply);
  if (!complete) throw StoreException(Errc::kUnavailable, "doclock: MongoDB: a look was not ended");
  for (Document* const document : others) TellVersion(*document, reply);
}

void LayoutUnit::TellVersion(const Document& document, const Reply& reply) {
  if (!document.asked.collection->has_bodies() || document.loaded.entry == nullptr) return;
  // Between the grants before this look and those that come: see LayoutStore.
  const std::int64_t version =
      document.asked.expected != kAnyVersion ? document.asked.expected : OperationTime(reply) - 1;
  for (Loaded& one : loaded_) {
    if (&one == document.loaded.entry) one.lock.version = version;
  }
}

/// One command to a majority that changes nothing if the document is there.
void LayoutUnit::LoadForAttempt(Document& document) {
  const Collection& collection = *document.asked.collection;
  Doc command;
  command.Add("findAndModify", std::string_view(collection.name()));
  command.Add("query", ByKey(LayoutOf(collection), *document.asked.key));
  LayoutOf(collection).AddLook(command);
  const bool makes = !collection.has_bodies();
  command.Add("upsert", makes).Add("new", true).Add("fields", Sight());
  Reply reply;
  operations_.Write(command, reply);
  if (reply.outcome == Outcome::kDoubt) {
    // At most a document that nobody holds was made.
    throw StoreException(Errc::kUnavailable, "doclock: MongoDB: " + reply.text);
  }
  if (reply.is_duplicate()) throw locking::Raced();  // two that made the document
  Check(reply);
  bson_t value, doc;
  bson_iter_t now;
  if (!makes && !reply.Document("value", value)) return;  // it is missing
  if (!reply.Document("value", value) || !FindDocument(value, "doc", doc) ||
      !FindField(value, "now", now)) {
    throw StoreException(Errc::kUnavailable, "doclock: MongoDB: a look showed no document");
  }
  Loaded& loaded = Show(document, doc, bson_iter_date_time(&now));
  // The rules grant at the next version.
  loaded.lock.version = std::max(loaded.lock.version, OperationTime(reply) - 1);
}

void LayoutUnit::Scan(Collection&, const Filter&, const std::function<bool(QueryRow&&)>&) {
  throw StoreException(Errc::kRefused, "doclock: MongoDB: there are no bodies to search");
}

std::string LayoutUnit::ScanLocks(Collection& collection, const LockQuery& query,
                                  const std::string& after,
                                  const std::function<bool(locking::Candidate&&)>& visit) {
  const Layout& layout = LayoutOf(collection);
  const char* const name = layout.key_field();
  // Of these only: others, as legacy UUIDs, are no names of locks.
  const LockFieldNames* const beside_body = layout.beside_body();
  const char* const past = after.empty() ? "$gte" : "$gt";
  Doc names;
  if (beside_body == nullptr) {
    names.Add("$type", "string").Add(past, after);
  } else {
    names.Add(past, UuidIn(after).value_or(LowestUuid())).Add("$lte", HighestUuid());
  }
  Doc filter = query.key ? ByKey(layout, KeyIn(layout, *query.key)) : Doc::Of(name, names);
  if (beside_body != nullptr && !query.unheld) filter.Add(beside_body->id, Doc::OfNull("$ne"));
  Doc command = Doc::Of("find", std::string_view(collection.name()));
  command.Add("filter", filter).Add("projection", Sight()).Add("sort", Doc::Of(name, 1));
  command.Add("limit", kLayoutPage).Add("batchSize", kLayoutPage + 1);
  command.Add("readConcern", Doc::Of("level", "majority"));
  Reply reply;
  operations_.Read(command, reply);
  if (reply.code == kNamespaceNotFound) return {};
  Check(reply);
  // Large documents fill an answer before the page is full.
  bool more = reply.cursor_id() != 0;
  if (more) operations_.Forget(collection, reply.cursor_id());
  std::int64_t rows = 0;
  std::string last;
  reply.ForEachInBatch([&](const bson_t& row) {
    bson_t doc;
    bson_iter_t now, id;
    more = ++rows == kLayoutPage || more;
    if (!FindDocument(row, "doc", doc) || !FindField(row, "now", now) ||
        !FindField(doc, name, id)) {
      return true;
    }
    locking::Candidate candidate;
    const bool is_key = ReadKey(id, candidate.key);
    last = beside_body != nullptr ? candidate.key.ToString() : TextAt(doc, name);
    if (!is_key) return true;  // a name longer than keys may be
    candidate.has_body = beside_body != nullptr;
    std::string bad_field;
    candidate.lock = layout.Read(doc, bson_iter_date_time(&now), bad_field);
    candidate.malformed = !bad_field.empty();
    if (candidate.malformed) {
      candidate.why_malformed = bad_field + " is not what " + layout.library() + " writes";
    }
    const bool goes_on = visit(std::move(candidate));
    more = more || !goes_on;
    return goes_on;
  });
  return more ? last : std::string();
}

void LayoutUnit::Commit(std::span<Document> documents) {
  struct Command {
    Array statements;
    std::vector<Document*> documents;
  };
  std::map<Verb, Command> commands;
  for (Document& document : documents) {
    if (!document.IsDecided()) continue;
    const auto& loaded = static_cast<const Loaded&>(*document.loaded.entry);
    Statement statement = LayoutOf(*document.asked.collection)
                              .Change(*document.asked.key, *loaded.seen.get(), loaded.lock,
                                      document.decision.entry->lock);
    const Body& body = document.decision.entry->body;
    const LockFieldNames* const lock = LayoutOf(*document.asked.collection).beside_body();
    if (lock != nullptr && !body.IsSameAs(loaded.body)) {
      const Body& base = document.decision.base != nullptr ? *document.decision.base : loaded.body;
      statement.doc =
          WithBody(statement.doc, *loaded.seen.get(), *lock, TreeForBson(body), base.json());
    }
    Command& command = commands[statement.verb];
    command.statements.Add(statement.doc);
    command.documents.push_back(&document);
  }
  bool stored = false;
  for (auto& [verb, command] : commands) {
    Reply reply;
    Doc doc =
        CommandOf(verb, *command.documents.front()->asked.collection, command.statements, false);
    operations_.Write(doc, reply);
    const bool one = command.documents.size() == 1;
    if (!stored) Check(one ? Single(reply) : reply);  // else others are stored: it is told of each
    stored = true;
    Settle(verb, command.documents, reply);
  }
  if (documents.size() == 1 && documents.front().outcome.raced) throw locking::Raced();
}

void LayoutUnit::Settle(Verb verb, std::vector<Document*> documents, const Reply& reply) {
  const std::int64_t matched = reply.Integer("n");
  const bool all = matched == static_cast<std::int64_t>(documents.size());
  std::size_t place = 0;
  std::erase_if(documents, [&](Document* document) {
    return Settled(reply.Of(place++), *document->asked.collection, document->outcome.status,
                   document->outcome.detail);
  });
  for (Document* const document : documents) {
    document->outcome.status = all ? OpStatus::kDone : OpStatus::kPending;
    document->outcome.raced = !all;  // what an update has stored may be stored again
  }
  if (!all && verb == Verb::kDelete && !documents.empty()) JudgeDeleted(documents, matched);
}

void LayoutUnit::JudgeDeleted(std::span<Document* const> documents, std::int64_t deleted) {
  if (deleted == 0) return;
  std::vector<const Key*> keys;
  for (const Document* const document : documents) keys.push_back(document->asked.key);
  std::set<std::size_t> there;
  Reply reply;
  const Collection& collection = *documents.front()->asked.collection;
  const bool complete = operations_.Look(
      collection, keys, {.whole = true, .key_field = LayoutOf(collection).key_field()},
      [&](std::size_t place, Operations::Shown&&) { there.insert(place); }, reply);
  const bool all = complete && static_cast<std::int64_t>(keys.size() - there.size()) == deleted;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (complete && there.contains(i)) continue;
    documents[i]->outcome.raced = false;
    if (all) {
      documents[i]->outcome.status = OpStatus::kDone;
    } else {
      documents[i]->outcome.Fail(OpStatus::kInDoubt, Errc::kInDoubt,
                                 "which client has deleted the document is not known");
    }
  }
}

}  // namespace doclock::mongodb
