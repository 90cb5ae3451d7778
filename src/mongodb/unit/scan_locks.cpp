#include "mongodb/unit/execute.h"

#include <stdexcept>
#include <string_view>
#include <utility>

#include "document/values/base64.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/bson/bson.h"
#include "mongodb/layouts/layout_parts.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/lock_filters.h"

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

/// Where a page ends: the lock id and the key of its last document. As text, which callers keep
/// between the calls; not JSON, which has no words for a text that is not UTF-8.
std::string Remember(const bson_t& last, const LockFieldNames& names) {
  Doc values;
  bson_iter_t value;
  for (const std::string& field : {names.id, std::string("_id")}) {
    if (FindField(last, field, value)) values.Add(field, *bson_iter_value(&value));
  }
  return detail::EncodeBase64({bson_get_data(values.get()), std::size_t{values.get()->len}});
}

/// Empty: from the beginning.
Doc Remembered(const std::string& text) {
  Doc last;
  if (text.empty()) return last;
  const auto bytes = detail::DecodeBase64(text);
  bson_t values;
  if (!bytes || bytes->empty() || !bson_init_static(&values, bytes->data(), bytes->size())) {
    throw std::invalid_argument("doclock: no page of locks begins there");
  }
  bson_concat(last.get(), &values);
  return last;
}

/// Adds a condition for what comes behind that value.
void AddBehind(Doc& condition, const Doc& last, const std::string& field, const char* comparison) {
  bson_iter_t value;
  if (FindField(*last.get(), field, value)) condition.Add(comparison, *bson_iter_value(&value));
}

/// The documents behind that key. Unlike $gt, the comparison of expressions knows no types.
Doc BehindKey(const Doc& last) {
  Doc key;
  AddBehind(key, last, "_id", "$literal");
  return key.empty() ? Doc() : Doc::Of("$expr", Call("$gt", "$_id", key));
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

/// Held locks, in the order of their ids, which stay the same as long as the lock is held. Those of
/// one id (all shared locks show the same) stand in the order of keys.
Doc HeldLocksFilter(const Collection& collection, const LockScan& query, const Doc& last) {
  const std::string& id = collection.fields().id;
  Doc held = NoArray(Doc::Of("$type", "binData"));
  AddBehind(held, last, id, "$gt");
  Array either, all;
  either.Add(Doc::Of(id, held));
  if (!last.empty()) {
    Doc same = Doc::Of("$type", "binData"), of_same;
    AddBehind(same, last, id, "$eq");
    of_same.Add(id, same);
    bson_concat(of_same.get(), BehindKey(last).get());
    either.Add(of_same);
  }
  all.Add(WantedFilter(collection, query)).Add(Doc::Of("$or", either));
  return Doc::Of("$and", all);
}

/// One document, or all that are there, in the order of keys.
Doc KeysFilter(const Collection& collection, const LockScan& query, const Doc& last) {
  const std::string& id = collection.fields().id;
  Doc filter = WantedFilter(collection, query);
  if (query.key) filter.Add("_id", Equals(*query.key));
  if (!query.unheld) {
    filter.Add(id, Doc::OfNull("$ne"));
  } else if (!query.group.empty()) {
    filter.Add(id, Doc::Of("$type", "binData"));
  }
  return Doc::Of("$and", Array().Add(filter).Add(BehindKey(last)));
}

Doc CommandFor(const Collection& collection, const Doc& filter) {
  const LockFieldNames& names = collection.fields();
  Doc fields;
  for (const std::string* field : LockFields(names)) fields.Add(*field, 1);
  fields.Add(kServerTime, "$$NOW").Add(kBodyFlag, HasBodyExpr(names));
  Doc command;
  command.Add("find", std::string_view(collection.name()));
  command.Add("filter", filter).Add("projection", fields);
  // One more than is shown: it tells that there is a next page.
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
  const LockFieldNames& names = collection.fields();
  const bool by_key = query.unheld || query.key;
  const Doc last = Remembered(after);
  Doc command = CommandFor(collection, by_key ? KeysFilter(collection, query, last)
                                              : HeldLocksFilter(collection, query, last));
  Doc order;
  if (!by_key) order.Add(names.id, 1);
  command.Add("sort", order.Add("_id", 1));
  if (by_key) command.Add("hint", Doc::Of("_id", 1));
  Reply reply;
  operations.Read(command, reply);
  Check(reply);
  std::string next, end;
  std::int64_t rows = 0;
  bool more = true;
  reply.ForEachInBatch([&](const bson_t& doc) {
    if (++rows > kRowsPerPage) next = std::move(end);
    if (rows == kRowsPerPage) end = Remember(doc, names);
    more = more && rows <= kRowsPerPage && Show(doc, collection, visit);
    return true;
  });
  return next;
}

}  // namespace doclock::mongodb
