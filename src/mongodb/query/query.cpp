#include "mongodb/query/query.h"

#include <algorithm>

#include "document/json/row_filter.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/client/pool.h"
#include "mongodb/client/privileges.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/stored_lock.h"

namespace doclock::mongodb {
namespace {

Doc QueryPipeline(const Filter& filter, const Pass& pass, std::int64_t place) {
  Doc whole;
  whole.Add("doc", "$$ROOT").Add("now", "$$NOW").Add("place", place);
  Array stages;
  stages.Add(Doc::Of("$match", And(MatchOf(filter), pass.match)));
  stages.Add(Doc::Of("$sort", pass.sort));
  stages.Add(Doc::Of("$replaceWith", whole));
  return Doc::Of("pipeline", stages);
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
  // A malformed lock may be any; it is not free.
  row.locked = lock.IsLive(kLookedAt) || lock.malformed();
  if (filter.lock_state() == Filter::LockState::kFree && row.locked) return std::nullopt;
  if (filter.lock_state() == Filter::LockState::kLocked && !row.locked) return std::nullopt;
  row.body = Body::FromJson(ReadBody(doc, collection.fields(), &row.left_out));
  row.version = lock.version;
  row.born = lock.born;
  return row;
}

using SnapshotPtr = Owned<mongoc_client_session_t>;

/// All that is read in it was there at one moment, and is committed by a majority. A server that is
/// no member of a set has none.
SnapshotPtr StartSnapshot(const Server& server, mongoc_client_t* client) {
  SnapshotPtr snapshot(nullptr, &mongoc_client_session_destroy);
  if (!server.is_replica_set()) return snapshot;
  const Owned<mongoc_session_opt_t> options(mongoc_session_opts_new(),
                                            &mongoc_session_opts_destroy);
  mongoc_session_opts_set_snapshot(options.get(), true);
  bson_error_t error;
  snapshot.reset(mongoc_client_start_session(client, options.get(), &error));
  if (!snapshot) {
    throw StoreException(Errc::kUnavailable,
                         std::string("doclock: MongoDB: no session for a query: ") + error.message);
  }
  return snapshot;
}

using CursorPtr = Owned<mongoc_cursor_t>;

/// Returns true; false if no primary was found, and nothing was asked of any: `why` says more.
bool Succeeded(const Server& server, mongoc_cursor_t* cursor, const std::string& collection,
               std::string& why) {
  bson_error_t error;
  const bson_t* answer = nullptr;
  if (!mongoc_cursor_error_document(cursor, &error, &answer)) return true;
  Reply reply;
  if (answer != nullptr) bson_copy_to(answer, reply.Fresh());
  reply.Judge(false, error, Effect::kReads);
  server.NameServers(reply);
  why = reply.text;
  if (error.domain == MONGOC_ERROR_SERVER_SELECTION) return false;
  if (reply.is_unauthorized()) {
    reply.text = MissingPrivilege("aggregate", server.database(), collection);
  }
  // A primary that steps down or shuts down refuses nothing for good.
  throw StoreException(reply.outcome == Outcome::kRefused ? Errc::kRefused : Errc::kUnavailable,
                       "doclock: MongoDB: a query failed: " + reply.text);
}

/// Returns true; false if no primary was found: `why` says more.
template <class Visit>
bool Aggregate(const Server& server, mongoc_client_t* client, const std::string& collection,
               const Doc& pipeline, const Doc& options, const Visit& visit, std::string& why) {
  const CollectionHandle documents =
      HandleOf(client, server.database(), collection,
               server.is_replica_set() ? nullptr : MONGOC_READ_CONCERN_LEVEL_LOCAL);
  const CursorPtr cursor(mongoc_collection_aggregate(documents.get(), MONGOC_QUERY_NONE,
                                                     pipeline.get(), options.get(), nullptr),
                         &mongoc_cursor_destroy);
  const bson_t* answer = nullptr;
  while (mongoc_cursor_next(cursor.get(), &answer)) {
    if (!visit(*answer)) return true;
  }
  return Succeeded(server, cursor.get(), collection, why);
}

}  // namespace

void Query(Server& server, const Collection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink, std::chrono::milliseconds budget) {
  const Deadline deadline = std::chrono::steady_clock::now() + budget;
  const Session session(server.For(Purpose::kCalls, budget));
  if (session.client() == nullptr) {
    throw StoreException(Errc::kUnavailable, "doclock: MongoDB: all connections are in use");
  }
  // A version that is rolled back may be given out again: a Save of what was found would replace
  // what it has not seen. What a snapshot shows is not rolled back.
  const SnapshotPtr snapshot = StartSnapshot(server, session.client());
  Doc options;
  bson_error_t error;
  if (snapshot && !mongoc_client_session_append(snapshot.get(), options.get(), &error)) {
    throw StoreException(Errc::kUnavailable,
                         std::string("doclock: MongoDB: no session for a query: ") + error.message);
  }
  options.Add("maxTimeMS", std::max<std::int64_t>(budget.count(), 1)).Add("allowDiskUse", true);
  std::int64_t shown = 0;
  bool enough = false;
  std::string why;
  const std::int64_t place = FirstPlace();
  const auto visit = [&](const bson_t& answer) {
    if (!PlaceIn(answer, place, 1)) {
      throw StoreException(Errc::kUnavailable, std::string("doclock: MongoDB: ") + kOtherQuestion);
    }
    std::optional<QueryRow> row = RowOf(answer, collection, filter);
    enough = row && (!sink(std::move(*row)) || ++shown == filter.limit());
    return !enough;
  };
  for (const Pass& pass : PassesOf(filter)) {
    const Doc pipeline = QueryPipeline(filter, pass, place);
    const std::int64_t before = shown;
    const Deadline give_up =
        std::min(deadline, std::chrono::steady_clock::now() + server.selection_timeout());
    while (!enough &&
           !Aggregate(server, session.client(), collection.name(), pipeline, options, visit, why)) {
      if (shown > before || std::chrono::steady_clock::now() >= give_up) {
        throw StoreException(Errc::kUnavailable, "doclock: MongoDB: " + why);
      }
    }
  }
}

}  // namespace doclock::mongodb
