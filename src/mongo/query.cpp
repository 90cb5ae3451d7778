#include "mongo/query.h"

#include "mongo/body_codec.h"
#include "mongo/match.h"
#include "mongo/operations.h"

namespace doclock::mongo {
namespace {

Doc Both(const Doc& a, const Doc& b) {
  if (a.empty()) return Doc::OfArray("$and", Array().Add(Doc()).Add(b).doc());
  return Doc::OfArray("$and", Array().Add(a).Add(b).doc());
}

Doc QueryPipeline(const Filter& filter, const Pass& pass) {
  Doc whole;
  whole.Add("doc", "$$ROOT").Add("now", "$$NOW");
  Array stages;
  stages.Add(Doc::Of("$match", Both(MatchOf(filter), pass.match)));
  stages.Add(Doc::Of("$sort", pass.sort));
  stages.Add(Doc::Of("$replaceWith", whole));
  return Doc::OfArray("pipeline", stages.doc());
}

/// Nothing for a document whose _id this library does not know.
std::optional<QueryRow> RowOf(const bson_t& answer, const Collection& collection,
                              const Filter& filter) {
  bson_t doc;
  bson_iter_t now, id;
  if (!FindDocument(answer, "doc", doc) || !FindField(answer, "now", now)) return std::nullopt;
  QueryRow row;
  if (!FindField(doc, "_id", id) || !ReadKey(id, row.key)) return std::nullopt;
  const StoredLock lock = ReadStoredLock(doc, collection, bson_iter_date_time(&now));
  // Nobody knows what a malformed lock is; it is not free.
  row.locked = lock.live() || lock.state == StoredLock::State::kMalformed;
  if (filter.lock_state() == Filter::LockState::kFree && row.locked) return std::nullopt;
  if (filter.lock_state() == Filter::LockState::kLocked && !row.locked) return std::nullopt;
  row.body = Body::FromJson(ReadBody(doc, collection.fields()));
  row.version = lock.version;
  row.born = lock.born;
  return row;
}

using CursorPtr = std::unique_ptr<mongoc_cursor_t, decltype(&mongoc_cursor_destroy)>;

void ThrowIfFailed(mongoc_cursor_t* cursor) {
  bson_error_t error;
  if (!mongoc_cursor_error(cursor, &error)) return;
  const bool away = error.domain != MONGOC_ERROR_SERVER;
  throw StoreException(away ? Errc::kUnavailable : Errc::kRefused,
                       "doclock: MongoDB: a query failed with error " + std::to_string(error.code));
}

}  // namespace

void Query(Server& server, const Collection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink, std::chrono::milliseconds budget) {
  const Session session(server.pool(), mongoc_client_pool_pop(server.pool()));
  const std::unique_ptr<mongoc_collection_t, decltype(&mongoc_collection_destroy)> documents(
      mongoc_client_get_collection(session.client(), server.database().c_str(),
                                   collection.name().c_str()),
      &mongoc_collection_destroy);
  Doc options;
  options.Add("maxTimeMS", std::max<std::int64_t>(budget.count(), 1)).Add("allowDiskUse", true);
  std::int64_t shown = 0;
  for (const Pass& pass : PassesOf(filter)) {
    const CursorPtr cursor(
        mongoc_collection_aggregate(documents.get(), MONGOC_QUERY_NONE,
                                    QueryPipeline(filter, pass).get(), options.get(), nullptr),
        &mongoc_cursor_destroy);
    const bson_t* answer = nullptr;
    while (mongoc_cursor_next(cursor.get(), &answer)) {
      std::optional<QueryRow> row = RowOf(*answer, collection, filter);
      if (row && (!sink(std::move(*row)) || ++shown == filter.limit())) return;
    }
    ThrowIfFailed(cursor.get());
  }
}

void AcquireNext(Server& server, const Filter& filter, AcquireOp& op, Key& key,
                 std::chrono::milliseconds budget) {
  op.status = OpStatus::kMissing;
  if (filter.lock_state() == Filter::LockState::kLocked) return;
  Operations operations(server, budget);
  const Doc match = MatchOf(filter);
  for (const Pass& pass : PassesOf(filter)) {
    if (operations.AcquireFirst(op, Both(match, pass.match), pass.sort, key)) return;
    if (op.status != OpStatus::kMissing) return;
  }
}

}  // namespace doclock::mongo
