#include "mongodb/admin/list_locks.h"

#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "document/values/base64.h"
#include "mongodb/admin/admin.h"
#include "mongodb/operations/operations.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/lock_fields.h"
#include "rules/looking.h"

namespace doclock::mongodb {
namespace {

/// Rows of one page.
constexpr std::int64_t kRowsPerPage = 1000;
constexpr const char* kBodyFlag = "doclockHasBody";
constexpr const char* kServerTime = "doclockNow";

/// Does the document hold anything that is not the lock's? Asked of the server: a body may be
/// large.
Doc HasBodyExpr(const LockFieldNames& names) {
  Doc map;
  map.Add("input", Doc::Of("$objectToArray", "$$ROOT")).Add("in", "$$this.k");
  Array known;
  known.Add(std::string_view("_id"));
  for (const std::string* field : LockFields(names)) known.Add(std::string_view(*field));
  Array difference;
  difference.Add(Doc::Of("$map", map));
  // The names of fields are values here.
  difference.Add(Doc::OfArray("$literal", known.doc()));
  Array greater;
  greater.Add(Doc::Of("$size", Doc::OfArray("$setDifference", difference.doc()))).Add(0);
  return Doc::OfArray("$gt", greater.doc());
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
Doc WantedFilter(const Collection& collection, const LockQuery& query) {
  const LockFieldNames& names = collection.fields();
  Doc filter;
  if (query.group.empty()) return filter;
  Array either;
  either.Add(Doc::Of(names.group, Equals(query.group)));
  either.Add(Doc::Of(names.readers + ".group", Equals(query.group)));
  filter.AddArray("$or", either.doc());
  return filter;
}

/// Held locks, in the order of their ids. (In an array MongoDB would look at the elements.)
Doc HeldFilter(const Collection& collection, const LockQuery& query, const Cursor& cursor) {
  const std::string& id = collection.fields().id;
  Doc held = Doc::Of("$type", "binData");
  held.Add("$not", Doc::Of("$type", "array"));
  const bool behind = cursor.kind == Cursor::Kind::kBehind;
  bson_concat(held.get(), Renamed(cursor, id, behind ? "$gt" : "$gte").get());
  Doc filter = WantedFilter(collection, query);
  filter.Add(id, held);
  return filter;
}

/// The documents of one lock id, in the order of keys. Unlike $gte, the comparison of expressions
/// knows no types.
Doc OneIdFilter(const Collection& collection, const LockQuery& query, const Cursor& cursor) {
  const std::string& id = collection.fields().id;
  Doc filter = WantedFilter(collection, query);
  Doc one = Renamed(cursor, id, "$eq");
  one.Add("$type", "binData");
  filter.Add(id, one);
  const Doc first = Renamed(cursor, "_id", "$literal");
  if (!first.empty()) filter.Add("$expr", BinaryOperator("$gte", std::string_view("$_id"), first));
  return filter;
}

/// One document, or all that are there, in the order of keys.
Doc KeysFilter(const Collection& collection, const LockQuery& query) {
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

void AddRows(const bson_t& doc, const Collection& collection, const LockQuery& query,
             std::vector<LockRow>& rows) {
  bson_iter_t field;
  LockRow row;
  // Documents whose _id no key can name are somebody else's.
  if (!FindField(doc, "_id", field)) return;
  if (!ReadKey(field, row.key)) return;
  row.has_body = FlagAt(doc, kBodyFlag);
  const std::int64_t now = FindField(doc, kServerTime, field) ? bson_iter_date_time(&field) : 0;
  const StoredLock lock = ReadStoredLock(doc, collection, now);
  if (lock.malformed()) {
    row.malformed = row.live = true;
    return rows.push_back(std::move(row));
  }
  rules::AddRows(rows, row, lock, query, kLookedAt);
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

/// As many documents as one page shows, or until `stop` says that one is not to be shown.
template <class Stop>
LockPage PageOf(const Reply& reply, const Collection& collection, const LockQuery& query,
                const Stop& stop) {
  LockPage page;
  std::int64_t seen = 0;
  reply.ForEachInBatch([&](const bson_t& doc) {
    if (++seen > kRowsPerPage || stop(doc)) return false;
    AddRows(doc, collection, query, page.rows);
    return true;
  });
  return page;
}

LockPage ByKey(Operations& operations, const Collection& collection, const LockQuery& query,
               const Cursor& cursor) {
  Doc command = CommandFor(collection, KeysFilter(collection, query));
  // $gte would compare values of one type only; the bounds of an index know no types.
  command.Add("hint", Doc::Of("_id", 1));
  if (!cursor.value.empty()) command.Add("min", cursor.value);
  Reply reply;
  Ask(operations, command, "_id", reply);
  LockPage page = PageOf(reply, collection, query, [](const bson_t&) { return false; });
  Doc next = NextIn(reply, {"_id"});
  if (!next.empty()) page.next = Remember({Cursor::Kind::kFrom, std::move(next)});
  return page;
}

LockPage OfOneId(Operations& operations, const Collection& collection, const LockQuery& query,
                 const Cursor& cursor) {
  const std::string& id = collection.fields().id;
  Doc command = CommandFor(collection, OneIdFilter(collection, query, cursor));
  Reply reply;
  Ask(operations, command, "_id", reply);
  LockPage page = PageOf(reply, collection, query, [](const bson_t&) { return false; });
  Doc next = NextIn(reply, {id, "_id"});
  page.next = next.empty() ? Remember({Cursor::Kind::kBehind, Renamed(cursor, id, id)})
                           : Remember({Cursor::Kind::kWithin, std::move(next)});
  return page;
}

LockPage ByLockId(Operations& operations, const Collection& collection, const LockQuery& query,
                  const Cursor& cursor) {
  const std::string& id = collection.fields().id;
  Doc command = CommandFor(collection, HeldFilter(collection, query, cursor));
  Reply reply;
  Ask(operations, command, id, reply);
  Doc next = NextIn(reply, {id});
  bool any = false;
  // The page ends before an id of which there is more.
  LockPage page = PageOf(reply, collection, query, [&](const bson_t& doc) {
    const bool stop = !next.empty() && bson_equal(ValuesOf(doc, {id}).get(), next.get());
    any = any || !stop;
    return stop;
  });
  if (next.empty()) return page;
  if (!any) return OfOneId(operations, collection, query, {Cursor::Kind::kWithin, std::move(next)});
  page.next = Remember({Cursor::Kind::kFrom, std::move(next)});
  return page;
}

}  // namespace

LockPage ListLocks(Server& server, const Collection& collection, const LockQuery& query,
                   const std::string& after, std::chrono::milliseconds budget) {
  Operations operations(server, budget);
  const Cursor cursor = CursorOf(after);
  if (query.unheld || query.key) return ByKey(operations, collection, query, cursor);
  if (cursor.kind == Cursor::Kind::kWithin) return OfOneId(operations, collection, query, cursor);
  return ByLockId(operations, collection, query, cursor);
}

}  // namespace doclock::mongodb
