#include "mongodb/layouts/layout_unit.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace doclock::mongodb {

using locking::Change;

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

/// Rises with every write that the replica set has acknowledged; 0: the answer has none.
std::int64_t OperationTime(const Reply& reply) {
  bson_iter_t at;
  if (!FindField(reply.doc(), "operationTime", at) || !BSON_ITER_HOLDS_TIMESTAMP(&at)) return 0;
  std::uint32_t seconds = 0, increment = 0;
  bson_iter_timestamp(&at, &seconds, &increment);
  return std::max<std::int64_t>(seconds - kTokenEpoch, 0) << 32 | increment;
}

Body NoBody() {
  static const Body kNothing = Body::FromText("{}");
  return kNothing;
}

}  // namespace

LayoutUnit::Loaded& LayoutUnit::Show(Change& document, const bson_t& doc, std::int64_t now) {
  Loaded& loaded = loaded_.emplace_back();
  loaded.lock = LayoutOf(*document.collection).Read(doc, now, loaded.bad_field);
  loaded.lock.born = kBorn;
  loaded.body = NoBody();
  bson_concat(loaded.seen.get(), &doc);
  document.malformed = !loaded.bad_field.empty();
  document.bad_part = document.malformed ? loaded.bad_field.c_str() : nullptr;
  document.was = document.malformed ? nullptr : &loaded;
  return loaded;
}

void LayoutUnit::Load(std::span<Change> documents) {
  loaded_.clear();
  std::vector<const Key*> keys;
  std::vector<Change*> others;
  for (Change& document : documents) {
    if (attempts_.contains(document.key)) {
      LoadForAttempt(document);
    } else {
      keys.push_back(document.key);
      others.push_back(&document);
    }
  }
  if (keys.empty()) return;
  Reply reply;
  // Confirmed: what a document does not show any more is the operation's result.
  const bool complete = operations_.Look(
      *documents.front().collection, keys,
      {.whole = true, .key_field = LayoutOf(*documents.front().collection).key_field()},
      [&](std::size_t place, Operations::Shown&& shown) {
        Show(*others[place], shown.doc, shown.now);
      },
      reply);
  Check(reply);
  if (!complete) throw StoreException(Errc::kUnavailable, "doclock: MongoDB: a look was not ended");
}

/// One command to a majority that changes nothing if the document is there.
void LayoutUnit::LoadForAttempt(Change& document) {
  const Collection& collection = *document.collection;
  Doc command;
  command.Add("findAndModify", std::string_view(collection.name()));
  command.Add("query", ByKey(LayoutOf(collection), *document.key));
  LayoutOf(collection).AddLook(command);
  command.Add("upsert", true).Add("new", true).Add("fields", Sight());
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
  // Of texts only: others are no names of locks.
  const Doc filter = query.key ? ByKey(layout, *query.key)
                               : Doc::Of(name, Doc::Of(after.empty() ? "$gte" : "$gt", after));
  Doc command = Doc::Of("find", std::string_view(collection.name()));
  command.Add("filter", filter).Add("projection", Sight()).Add("sort", Doc::Of(name, 1));
  command.Add("limit", kLayoutPage).Add("batchSize", kLayoutPage + 1);
  command.Add("readConcern", Doc::Of("level", "majority"));
  Reply reply;
  operations_.Read(command, reply);
  if (reply.code == kNamespaceNotFound) return {};
  Check(reply);
  std::int64_t rows = 0;
  std::string last;
  reply.ForEachInBatch([&](const bson_t& row) {
    bson_t doc;
    bson_iter_t now, id;
    ++rows;
    if (!FindDocument(row, "doc", doc) || !FindField(row, "now", now) ||
        !FindField(doc, name, id)) {
      return true;
    }
    last = TextAt(doc, name);
    locking::Candidate candidate;
    if (!ReadKey(id, candidate.key)) return true;  // a name longer than keys may be
    std::string bad_field;
    candidate.lock = layout.Read(doc, bson_iter_date_time(&now), bad_field);
    candidate.malformed = !bad_field.empty();
    return visit(std::move(candidate));
  });
  return rows == kLayoutPage ? last : std::string();
}

bool LayoutUnit::Store(const Change& change) {
  const auto& loaded = static_cast<const Loaded&>(*change.was);
  const Statement statement =
      LayoutOf(*change.collection)
          .Change(*change.key, *loaded.seen.get(), loaded.lock, change.now->lock);
  Doc command = CommandOf(statement.verb, *change.collection, Array().Add(statement.doc), true);
  Reply reply;
  operations_.Write(command, reply);
  Check(Single(reply));
  return reply.Integer("n") > 0;
}

void LayoutUnit::Commit(std::span<Change> changes) {
  for (Change& change : changes) {
    if (!change.IsDecided()) continue;
    if (Store(change)) {
      change.outcome = OpStatus::kDone;
    } else if (changes.size() == 1) {
      throw locking::Raced();
    } else {
      change.raced = true;
    }
  }
}

}  // namespace doclock::mongodb
