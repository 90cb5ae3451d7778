#include "mongodb/admin/scan_locks.h"

#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "document/values/base64.h"
#include "mongodb/bson/lock_fields.h"
#include "mongodb/bson/uuids.h"
#include "mongodb/layouts/layout_parts.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/lock_filters.h"

namespace doclock::mongodb {
namespace {

/// Documents of one page.
constexpr std::int64_t kRowsPerPage = 1000;
constexpr const char* kBodyFlag = "doclockHasBody";
constexpr const char* kServerTime = "doclockNow";

/// Does the document hold anything that is not the lock's? Asked of the server: a body may be
/// large.
Doc HasBodyExpr(const LockFieldNames& names) {
  Array known;
  known.Add("_id");
  for (const std::string* field : LockFields(names)) known.Add(*field);
  const Doc all = Mapped(Doc::Of("$objectToArray", "$$ROOT"), "$$this.k");
  // The names of fields are values here.
  const Doc others = Call("$setDifference", all, Doc::Of("$literal", known));
  return Call("$gt", Doc::Of("$size", others), 0);
}

/// Where a page begins. Held locks are ordered by their ids, which stay the same as long as the
/// lock is held. If one id fills a page (all shared locks show the same), its documents are ordered
/// by their keys; and so are all documents, if free ones are shown too.
struct Cursor {
  enum class Kind : char {
    kFrom = 'f',    ///< value: the first id, or the first key; empty: the very first.
    kWithin = 'w',  ///< value: an id, and the first key of it (none: the very first).
    kBehind = 'b',  ///< value: the last id that was shown.
  };
  Kind kind = Kind::kFrom;
  Doc value{};
};

/// A document's values of these fields, one after the other.
Doc ValuesOf(const bson_t& doc, std::initializer_list<std::string> fields) {
  Doc values;
  for (const std::string& field : fields) {
    bson_iter_t value;
    if (FindField(doc, field, value)) values.Add(field, *bson_iter_value(&value));
  }
  return values;
}

/// The cursor as text, which callers keep between the calls.
std::string Remember(const Cursor& cursor) {
  const bson_t& value = *cursor.value.get();
  // Not JSON, which has no words for a text that is not UTF-8.
  return static_cast<char>(cursor.kind) +
         detail::EncodeBase64({bson_get_data(&value), std::size_t{value.len}});
}

std::optional<Cursor::Kind> KindOf(char letter) {
  for (const auto kind : {Cursor::Kind::kFrom, Cursor::Kind::kWithin, Cursor::Kind::kBehind}) {
    if (letter == static_cast<char>(kind)) return kind;
  }
  return std::nullopt;
}

Cursor CursorOf(const std::string& text) {
  Cursor cursor;
  if (text.empty()) return cursor;
  const std::optional<Cursor::Kind> kind = KindOf(text.front());
  const auto bytes = detail::DecodeBase64(std::string_view(text).substr(1));
  bson_t value;
  if (!kind || !bytes || bytes->empty() ||
      !bson_init_static(&value, bytes->data(), bytes->size())) {
    throw std::invalid_argument("doclock: no page of locks begins there");
  }
  cursor.kind = *kind;
  bson_concat(cursor.value.get(), &value);
  return cursor;
}

/// The value of a cursor, under another name; nothing if it has none.
Doc Renamed(const Cursor& cursor, const std::string& field, std::string_view name) {
  Doc renamed;
  bson_iter_t value;
  if (FindField(*cursor.value.get(), field, value)) renamed.Add(name, *bson_iter_value(&value));
  return renamed;
}

/// The filter for what is asked for, without that for the page.
Doc WantedFilter(const Collection& collection, const LockScan& query) {
  const LockFieldNames& names = collection.fields();
  Doc filter;
  if (query.over) {
    AddSound(filter, collection);
    filter.Add("$and", Array().Add(Doc::Of(names.id, LockIdThere())));
    filter.Add("$expr", ExpiredExpr(collection));
  }
  if (query.group.empty()) return filter;
  Array either;
  either.Add(Doc::Of(names.group, Equals(query.group)));
  either.Add(Doc::Of(names.readers + ".group", Equals(query.group)));
  filter.Add("$or", either);
  return filter;
}

/// Held locks, in the order of their ids.
Doc HeldLocksFilter(const Collection& collection, const LockScan& query, const Cursor& cursor) {
  const std::string& id = collection.fields().id;
  Doc held = NoArray(Doc::Of("$type", "binData"));
  const bool behind = cursor.kind == Cursor::Kind::kBehind;
  bson_concat(held.get(), Renamed(cursor, id, behind ? "$gt" : "$gte").get());
  Doc filter = WantedFilter(collection, query);
  filter.Add(id, held);
  return filter;
}

/// The documents of one lock id, in the order of keys. Unlike $gte, the comparison of expressions
/// knows no types.
Doc OneIdFilter(const Collection& collection, const LockScan& query, const Cursor& cursor) {
  const std::string& id = collection.fields().id;
  Doc filter = WantedFilter(collection, query);
  Doc one = Renamed(cursor, id, "$eq");
  one.Add("$type", "binData");
  filter.Add(id, one);
  const Doc first = Renamed(cursor, "_id", "$literal");
  if (first.empty()) return filter;
  const Doc behind = Doc::Of("$expr", Call("$gte", "$_id", first));
  return Doc::Of("$and", Array().Add(filter).Add(behind));
}

/// One document, or all that are there, in the order of keys.
Doc KeysFilter(const Collection& collection, const LockScan& query) {
  const std::string& id = collection.fields().id;
  Doc filter = WantedFilter(collection, query);
  if (query.key) filter.Add("_id", Equals(*query.key));
  if (!query.unheld) {
    filter.Add(id, Doc::OfNull("$ne"));
  } else if (!query.group.empty()) {
    filter.Add(id, Doc::Of("$type", "binData"));
  }
  return filter;
}

Doc CommandFor(const Collection& collection, const Doc& filter) {
  const LockFieldNames& names = collection.fields();
  Doc fields;
  for (const std::string* field : LockFields(names)) fields.Add(*field, 1);
  fields.Add(kServerTime, "$$NOW").Add(kBodyFlag, HasBodyExpr(names));
  Doc command;
  command.Add("find", std::string_view(collection.name()));
  command.Add("filter", filter).Add("projection", fields);
  // One more than is shown: it tells where the next page begins.
  command.Add("limit", kRowsPerPage + 1).Add("batchSize", kRowsPerPage + 1);
  command.Add("singleBatch", true);
  return command;
}

/// Returns whether more is wanted.
bool Show(const bson_t& doc, const Collection& collection, const LockVisitor& visit) {
  bson_iter_t field;
  Key key;
  // Documents whose _id no key can name are another program's.
  if (!FindField(doc, "_id", field) || !ReadKey(field, key)) return true;
  const std::int64_t now = FindField(doc, kServerTime, field) ? bson_iter_date_time(&field) : 0;
  StoredLock lock = ReadStoredLock(doc, collection, now);
  const bool malformed = lock.malformed();
  const std::string why = malformed ? lock.bad_field + " is not what this library writes" : "";
  return visit({std::move(key), std::move(lock), FlagAt(doc, kBodyFlag), malformed, why});
}

void Ask(Operations& operations, Doc& command, const std::string& order, Reply& reply) {
  command.Add("sort", Doc::Of(order, 1));
  operations.Read(command, reply);
  Check(reply);
}

/// What the document that the next page begins with has in these fields; empty: there is no next.
Doc NextIn(const Reply& reply, std::initializer_list<std::string> fields) {
  Doc next;
  std::int64_t seen = 0;
  reply.ForEachInBatch([&](const bson_t& doc) {
    if (++seen > kRowsPerPage) next = ValuesOf(doc, fields);
    return true;
  });
  return next;
}

/// Shows as many documents as one page has, until `stop` says that one is not to be shown.
template <class Stop>
void ShowPage(const Reply& reply, const Collection& collection, const LockVisitor& visit,
              const Stop& stop) {
  std::int64_t seen = 0;
  reply.ForEachInBatch([&](const bson_t& doc) {
    return ++seen <= kRowsPerPage && !stop(doc) && Show(doc, collection, visit);
  });
}

void ShowPage(const Reply& reply, const Collection& collection, const LockVisitor& visit) {
  ShowPage(reply, collection, visit, [](const bson_t&) { return false; });
}

std::string ByKey(Operations& operations, const Collection& collection, const LockScan& query,
                  const Cursor& cursor, const LockVisitor& visit) {
  Doc command = CommandFor(collection, KeysFilter(collection, query));
  // $gte would compare values of one type only; the bounds of an index know no types.
  command.Add("hint", Doc::Of("_id", 1));
  if (!cursor.value.empty()) command.Add("min", cursor.value);
  Reply reply;
  Ask(operations, command, "_id", reply);
  ShowPage(reply, collection, visit);
  Doc next = NextIn(reply, {"_id"});
  return next.empty() ? std::string() : Remember({Cursor::Kind::kFrom, std::move(next)});
}

std::string OfOneId(Operations& operations, const Collection& collection, const LockScan& query,
                    const Cursor& cursor, const LockVisitor& visit) {
  const std::string& id = collection.fields().id;
  Doc command = CommandFor(collection, OneIdFilter(collection, query, cursor));
  Reply reply;
  Ask(operations, command, "_id", reply);
  ShowPage(reply, collection, visit);
  Doc next = NextIn(reply, {id, "_id"});
  return next.empty() ? Remember({Cursor::Kind::kBehind, Renamed(cursor, id, id)})
                      : Remember({Cursor::Kind::kWithin, std::move(next)});
}

std::string ByLockId(Operations& operations, const Collection& collection, const LockScan& query,
                     const Cursor& cursor, const LockVisitor& visit) {
  const std::string& id = collection.fields().id;
  Doc command = CommandFor(collection, HeldLocksFilter(collection, query, cursor));
  Reply reply;
  Ask(operations, command, id, reply);
  Doc next = NextIn(reply, {id});
  bool any = false;
  // The page ends before an id of which there is more.
  ShowPage(reply, collection, visit, [&](const bson_t& doc) {
    const bool stop = !next.empty() && bson_equal(ValuesOf(doc, {id}).get(), next.get());
    any = any || !stop;
    return stop;
  });
  if (next.empty()) return {};
  if (any) return Remember({Cursor::Kind::kFrom, std::move(next)});
  return OfOneId(operations, collection, query, {Cursor::Kind::kWithin, std::move(next)}, visit);
}

/// Locks of another library, in the order of their names.
std::string OfLayout(Operations& operations, const Collection& collection, const Layout& layout,
                     const LockQuery& query, const std::string& after, const LockVisitor& visit) {
  const char* const name = layout.key_field();
  // Other keys, as legacy UUIDs, are no names of locks.
  const LockFieldNames* const beside_body = layout.beside_body();
  const char* const past = after.empty() ? "$gte" : "$gt";
  Doc names;
  if (beside_body == nullptr) {
    names.Add("$type", "string").Add(past, after);
  } else {
    names.Add(past, UuidIn(after).value_or(LowestUuid())).Add("$lte", HighestUuid());
  }
  Doc filter = query.key ? ByKey(layout, *query.key) : Doc::Of(name, names);
  if (beside_body != nullptr && !query.unheld) filter.Add(beside_body->id, Doc::OfNull("$ne"));
  Doc shown = Doc::Of("_id", 0);
  shown.Add("doc", "$$ROOT").Add(kServerTime, "$$NOW");
  Doc command = Doc::Of("find", std::string_view(collection.name()));
  command.Add("filter", filter).Add("projection", shown).Add("sort", Doc::Of(name, 1));
  command.Add("limit", kRowsPerPage).Add("batchSize", kRowsPerPage + 1);
  command.Add("readConcern", Doc::Of("level", "majority"));
  Reply reply;
  operations.Read(command, reply);
  if (reply.code == kNamespaceNotFound) return {};
  Check(reply);
  // Large documents fill an answer before the page is full.
  bool more = reply.cursor_id() != 0;
  if (more) operations.Forget(collection, reply.cursor_id());
  std::int64_t rows = 0;
  std::string last;
  reply.ForEachInBatch([&](const bson_t& row) {
    bson_t doc;
    bson_iter_t now, id;
    more = ++rows == kRowsPerPage || more;
    if (!FindDocument(row, "doc", doc) || !FindField(row, kServerTime, now) ||
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

}  // namespace

std::string ScanLocks(Operations& operations, const Collection& collection, const LockScan& query,
                      const std::string& after, const LockVisitor& visit) {
  if (const Layout* const layout = LayoutOf(collection)) {
    return OfLayout(operations, collection, *layout, query, after, visit);
  }
  const Cursor cursor = CursorOf(after);
  if (query.unheld || query.key) return ByKey(operations, collection, query, cursor, visit);
  if (cursor.kind == Cursor::Kind::kWithin) {
    return OfOneId(operations, collection, query, cursor, visit);
  }
  return ByLockId(operations, collection, query, cursor, visit);
}

}  // namespace doclock::mongodb
