#include "mongo/list_locks.h"

#include <algorithm>
#include <stdexcept>

#include "mongo/admin.h"
#include "mongo/lock_fields.h"
#include "mongo/operations.h"
#include "mongo/uuid_bounds.h"

namespace doclock::mongo {
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

/// By which field the pages follow each other: an index has it. Held locks by their ids, which stay
/// the same as long as the lock is held.
const std::string& Order(const Collection& collection, const LockQuery& query) {
  static const std::string kKey = "_id";
  return query.unheld || query.key ? kKey : collection.fields().id;
}

/// Where a page begins, kept as text between the calls: {"": value}.
std::string Remember(const bson_t& doc, const std::string& field) {
  bson_iter_t value;
  if (!FindField(doc, field, value)) return {};
  const Doc place = Doc::Of("", *bson_iter_value(&value));
  std::size_t length = 0;
  char* const text = bson_as_canonical_extended_json(place.get(), &length);
  if (text == nullptr) return {};
  std::string result(text, length);
  bson_free(text);
  return result;
}

/// { field: the value that was remembered }
Doc Place(const std::string& after, const std::string& field) {
  bson_error_t error;
  bson_t* const place = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(after.data()),
                                           static_cast<ssize_t>(after.size()), &error);
  bson_iter_t value;
  if (place == nullptr || !bson_iter_init(&value, place) || !bson_iter_next(&value)) {
    bson_destroy(place);
    throw std::invalid_argument("doclock: no page of locks begins there");
  }
  const OwnedBson owned(place);
  return Doc::Of(field, *bson_iter_value(&value));
}

/// Locks that are held exclusively, from this id on. Shared ones all have the same id.
Doc HeldFrom(const std::string& after) {
  Doc held = Doc::Of("$type", "binData");
  held.Add("$ne", kSharedLockId);
  if (!after.empty()) bson_concat(held.get(), Place(after, "$gte").get());
  return held;
}

Doc FilterOf(const Collection& collection, const LockQuery& query, const std::string& after) {
  const LockFieldNames& names = collection.fields();
  Doc filter;
  if (query.key) filter.Add("_id", Equals(*query.key));
  if (!query.group.empty()) {
    Array either;
    either.Add(Doc::Of(names.group, Equals(query.group)));
    either.Add(Doc::Of(names.readers + ".group", Equals(query.group)));
    filter.AddArray("$or", either.doc());
  }
  if (!query.unheld && query.key) {
    filter.Add(names.id, Doc::OfNull("$ne"));
  } else if (!query.unheld) {
    filter.Add(names.id, HeldFrom(after));
  } else if (!query.group.empty()) {
    filter.Add(names.id, Doc::Of("$type", "binData"));
  }
  return filter;
}

/// Shared locks, in the order of keys, from this one on. Unlike $gte, the comparison of expressions
/// knows no types.
Doc SharedFilter(const Collection& collection, const LockQuery& query, const std::string& after) {
  const LockFieldNames& names = collection.fields();
  Doc filter = Doc::Of(names.id, Equals(kSharedLockId));
  if (!query.group.empty()) filter.Add(names.readers + ".group", Equals(query.group));
  if (after.empty()) return filter;
  Doc from;
  from.Add("0", "$_id");
  bson_concat(from.get(), Place(after, "1").get());
  filter.Add("$expr", Doc::OfArray("$gte", from));
  return filter;
}

/// In the order of keys, from the one remembered on. $gte would compare values of one type only;
/// the bounds of an index know no types.
void AddPlaceAmongKeys(Doc& command, const std::string& after) {
  command.Add("hint", Doc::Of("_id", 1));
  if (!after.empty()) command.Add("min", Place(after, "_id"));
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

std::chrono::milliseconds Age(const StoredLock& lock, const bson_t& doc,
                              const LockFieldNames& names, std::int64_t now) {
  bson_iter_t time, ttl;
  if (!FindField(doc, names.time, time) || !BSON_ITER_HOLDS_DATE_TIME(&time)) return {};
  std::int64_t since = bson_iter_date_time(&time);
  // It may have been renewed at that time, and released at any time afterwards.
  if (lock.lock_id.is_nil() && FindField(doc, names.ttl, ttl)) since += bson_iter_as_int64(&ttl);
  return std::chrono::milliseconds(std::max<std::int64_t>(now - since, 0));
}

LockRow RowOf(const bson_t& doc, const StoredLock& lock, std::int64_t now,
              const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  bson_iter_t field;
  LockRow row;
  row.has_body = FindField(doc, kBodyFlag, field) && bson_iter_as_bool(&field);
  row.malformed = lock.state == StoredLock::State::kMalformed;
  row.live = row.malformed || lock.live();
  if (row.malformed) return row;
  row.version = lock.version;
  row.born = lock.born;
  row.closed = lock.closed_left.count() > 0;
  row.ttl = FindField(doc, names.ttl, field) && BSON_ITER_HOLDS_INT(&field)
                ? std::chrono::milliseconds(bson_iter_as_int64(&field))
                : collection.default_ttl();
  row.age = Age(lock, doc, names, now);
  if (lock.lock_id.is_nil()) return row;
  row.lock_id = lock.lock_id;
  // A holder's saves raise the version too. There are none where there is no body.
  if (!row.has_body) row.fence = row.version;
  row.left = lock.remaining;
  row.holder = lock.holder;
  if (FindField(doc, names.group, field) && BSON_ITER_HOLDS_UTF8(&field)) {
    row.group = bson_iter_utf8(&field, nullptr);
  }
  return row;
}

/// A lock that is seen, and not to be had: no key names its document.
LockRow LegacyRow(const bson_iter_t& id) {
  Uuid bytes;
  ReadUuid(id, bytes);
  LockRow row;
  row.key = Key(bytes);
  row.malformed = row.live = true;
  return row;
}

/// `row` is what all of them show of the document.
void AddShareRows(const LockRow& row, const StoredLock& lock, const std::string& group,
                  std::vector<LockRow>& rows) {
  for (const StoredShare& share : lock.shares) {
    if (!group.empty() && share.group != group) continue;
    LockRow& result = rows.emplace_back(row);
    result.mode = LockMode::kShared;
    result.lock_id = share.id;
    result.fence = share.fence;
    result.live = share.live();
    result.left = share.left;
    result.ttl = share.ttl;
    result.age = share.age;
    result.holder = share.holder;
    result.group = share.group;
  }
}

void AddRows(const bson_t& doc, const Collection& collection, const LockQuery& query,
             std::vector<LockRow>& rows) {
  bson_iter_t field;
  Key key;
  // Documents whose _id no key can name are somebody else's.
  if (!FindField(doc, "_id", field)) return;
  if (IsLegacyUuid(field)) return rows.push_back(LegacyRow(field));
  if (!ReadKey(field, key)) return;
  const std::int64_t now = FindField(doc, kServerTime, field) ? bson_iter_date_time(&field) : 0;
  const StoredLock lock = ReadStoredLock(doc, collection, now);
  LockRow row = RowOf(doc, lock, now, collection);
  row.key = std::move(key);
  if (lock.shared() && !row.malformed) {
    AddShareRows(row, lock, query.group, rows);
  } else if (query.group.empty() || row.malformed || row.group == query.group) {
    rows.push_back(std::move(row));
  }
}

/// Before the place among shared locks, which follow the others.
constexpr std::string_view kAmongShared = "shared";

/// One command's page; where the next begins.
std::string AddPage(Operations& operations, Doc& command, const std::string& order,
                    const Collection& collection, const LockQuery& query, LockPage& page) {
  command.Add("sort", Doc::Of(order, 1));
  Reply reply;
  operations.Read(command, reply);
  Check(reply);
  std::string next;
  std::int64_t seen = 0;
  reply.ForEachInBatch([&](const bson_t& doc) {
    if (++seen > kRowsPerPage) {
      next = Remember(doc, order);
      return false;
    }
    AddRows(doc, collection, query, page.rows);
    return true;
  });
  return next;
}

}  // namespace

LockPage ListLocks(Server& server, const Collection& collection, const LockQuery& query,
                   const std::string& after, std::chrono::milliseconds budget) {
  Operations operations(server, budget);
  LockPage page;
  const std::string& order = Order(collection, query);
  const bool among_shared = after.starts_with(kAmongShared);
  if (!among_shared) {
    Doc command = CommandFor(collection, FilterOf(collection, query, after));
    if (order == "_id") AddPlaceAmongKeys(command, after);
    page.next = AddPage(operations, command, order, collection, query, page);
    if (order == "_id" || !page.next.empty()) return page;
  }
  const std::string place = among_shared ? after.substr(kAmongShared.size()) : std::string();
  Doc command = CommandFor(collection, SharedFilter(collection, query, place));
  const std::string next = AddPage(operations, command, "_id", collection, query, page);
  if (!next.empty()) page.next = std::string(kAmongShared) + next;
  return page;
}

}  // namespace doclock::mongo
