#include "mongodb/unit/operations.h"

#include <algorithm>
#include <numeric>

#include "mongodb/bson/body_codec.h"
#include "mongodb/layouts/layout.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/statements.h"

namespace doclock::mongodb {
namespace {

/// How much longer than the rest of a call a missing answer may take.
constexpr std::chrono::milliseconds kOvertime{1000};

const char* KeyFieldOf(const Layout* layout) {
  return layout == nullptr ? "_id" : layout->key_field();
}

/// The place of the document among `ids`, and what the view shows of it.
Doc SightProjection(const Collection& collection, const Array& ids, std::int64_t first,
                    const Operations::View& view) {
  const LockFieldNames& names = collection.fields();
  const Layout* const layout = LayoutOf(collection);
  Doc projection;
  if (view.whole || layout != nullptr) {
    projection.Add("doc", "$$ROOT");
  } else if (view.mine == nullptr) {
    projection.Add("doc", LockFieldsExpr(names));
  } else {
    const Doc is_mine = Call("$in", FieldPath(names.id), *view.mine);
    projection.Add("doc", Conditional(is_mine, "$$ROOT", LockFieldsExpr(names)));
  }
  projection.Add("now", "$$NOW").Add("place", PlaceAmong(ids, first, KeyFieldOf(layout)));
  return projection;
}

bool IsDocumentOf(const Key& key, const bson_t& value) {
  bson_iter_t id;
  Key of;
  return FindField(value, "_id", id) && ReadKey(id, of) && of == key;
}

/// What the validator of the collection has to allow.
std::string AllowedBy(const Collection& collection) {
  std::string fields;
  for (const std::string* field : LockFields(collection.fields())) AddName(fields, *field);
  return ": the validator of the collection refuses the document; it must allow the fields of the "
         "lock: " +
         fields;
}

}  // namespace

void Moment::KeepFrom(const Reply& reply) {
  bson_t cursor;
  bson_iter_t time;
  if (!FindDocument(reply.doc(), "cursor", cursor)) return;
  if (!FindField(cursor, "atClusterTime", time)) return;
  concern_ = Doc::Of("level", "snapshot");
  concern_.Add("atClusterTime", *bson_iter_value(&time));
}

void Check(const CommandResult& result) {
  if (result.answered()) return;
  const std::string text = "doclock: MongoDB: " + result.text;
  if (result.outcome == Outcome::kDoubt) throw InDoubtException(text);
  throw StoreException(result.outcome == Outcome::kRefused ? Errc::kRefused : Errc::kUnavailable,
                       text);
}

bool Settled(const CommandResult& result, const Collection& collection, OpStatus& status,
             std::unique_ptr<OpDetail>& detail) {
  const bool conflicts = result.is_duplicate() && result.duplicate != "_id";
  if (result.answered() && !conflicts) return false;
  detail = std::make_unique<OpDetail>();
  detail->message = result.text;
  switch (result.outcome) {
    case Outcome::kAnswered:
      status = OpStatus::kConflict;
      detail->message.clear();
      detail->index = result.duplicate;
      break;
    case Outcome::kRefused:
      status = OpStatus::kFailed;
      detail->code = Errc::kRefused;
      if (result.is_invalid()) detail->message += AllowedBy(collection);
      break;
    case Outcome::kNotSent:
      status = OpStatus::kFailed;
      break;
    case Outcome::kDoubt:
      status = OpStatus::kInDoubt;
      detail->code = Errc::kInDoubt;
      break;
  }
  return true;
}

void BusyWithOthers(StoreOp& op) {
  op.status = OpStatus::kBusy;
  op.detail = std::make_unique<OpDetail>();
}

Operations::Operations(Server& server, std::chrono::milliseconds budget)
    : Operations(server, server.For(Purpose::kCalls, budget),
                 std::chrono::steady_clock::now() + budget) {}

Operations Operations::Within(std::chrono::milliseconds limit) const {
  Operations part = *this;
  part.deadline_ = std::min(deadline_, std::chrono::steady_clock::now() + limit);
  return part;
}

bool Operations::Settled(StoreOp& op, const CommandResult& result) {
  return mongodb::Settled(result, *op.collection, op.status, op.detail);
}

void Operations::Execute(WriteOp& op) {
  if (op.request.mode == LockMode::kShared) return ReleaseShare(op);
  if (op.request.lock_id.is_nil() || op.request.lock_id == kSharedLockId) return;
  WriteAndShow(op, StatementOf(op, ReleaseTo::kFirst), Doc(), 1);
}

Pool& Operations::PoolOfNow() const {
  const std::chrono::milliseconds rest = Until(end_);
  if (pool_.socket_timeout() <= rest + kOvertime) return pool_;
  return server_.For(Purpose::kCalls, std::max(rest, kOvertime));
}

void Operations::Bound(Doc& command, const Pool& pool) const {
  // A little less than what the connection waits, so that the server's own answer comes first.
  const std::chrono::milliseconds most = std::min(left(), pool.socket_timeout() * 9 / 10);
  command.Add("maxTimeMS", std::max<std::int64_t>(most.count(), 1));
}

void Operations::Write(Doc& command, Reply& reply) {
  Pool& pool = PoolOfNow();
  Bound(command, pool);
  Server::AddWriteConcern(command, left());
  server_.Run(pool, command, Effect::kWrites, deadline_, reply);
}

void Operations::Read(Doc& command, Reply& reply) {
  Pool& pool = PoolOfNow();
  Bound(command, pool);
  server_.Run(pool, command, Effect::kReads, deadline_, reply);
}

void Operations::FindAndModify(const Collection& collection, const Key* key, const Doc& statement,
                               const Doc& rest, Reply& reply) {
  Doc command = Doc::Of("findAndModify", std::string_view(collection.name()));
  bson_iter_t part;
  bson_iter_init(&part, statement.get());
  while (bson_iter_next(&part)) {
    const std::string_view name = bson_iter_key(&part);
    if (name == "limit") {
      command.Add("remove", true);
    } else {
      command.Add(name == "q" ? "query" : name == "u" ? "update" : name, *bson_iter_value(&part));
    }
  }
  bson_concat(command.get(), rest.get());
  Write(command, reply);
  if (!reply.answered() || reply.code != 0) return;
  bson_iter_t found;
  bson_t value;
  // Each answer but an error has a value: null says that nothing matched.
  const bool fits =
      bson_iter_init_find(&found, &reply.doc(), "value") &&
      (key == nullptr || !reply.Document("value", value) || IsDocumentOf(*key, value));
  if (!fits) reply.Disown(Effect::kWrites);
}

void Operations::ModifyAndShow(const Collection& collection, const Doc& statement,
                               const Doc& fields, const Doc& rest, Reply& reply) {
  const std::int64_t question = FirstPlace();
  Doc shown = Doc::Of("question", Doc::Of("$literal", question)), all;
  bson_concat(shown.get(), fields.get());
  all.Add("fields", shown);
  bson_concat(all.get(), rest.get());
  FindAndModify(collection, nullptr, statement, all, reply);
  bson_t value;
  bson_iter_t told;
  if (!reply.answered() || !reply.Document("value", value)) return;
  if (!FindField(value, "question", told) || bson_iter_as_int64(&told) != question) {
    reply.Disown(Effect::kWrites);
  }
}

bool Operations::WriteAndShow(WriteOp& op, const Doc& statement, const Doc& rest,
                              std::int64_t raise) {
  const std::string& version = op.collection->fields().version;
  const Doc shown = Call("$mergeObjects", Doc::Of(version, FieldPath(version)));
  Reply reply;
  ModifyAndShow(*op.collection, statement, Doc::Of("doc", shown), rest, reply);
  if (Settled(op, Single(reply))) return true;
  bson_t value, doc;
  if (!reply.Document("value", value) || !FindDocument(value, "doc", doc)) return false;
  op.result.version = ReadStoredLock(doc, *op.collection, 0).version + raise;
  op.status = OpStatus::kDone;
  return true;
}

std::optional<StoredLock> Operations::Look(const Collection& collection, const Key& key, Sees sees,
                                           Reply& reply) {
  const Key* const one = &key;
  std::optional<StoredLock> lock;
  Look(
      collection, {&one, 1}, {.sees = sees},
      [&](std::size_t, Shown&& shown) { lock = std::move(shown.lock); }, reply);
  return lock;
}

std::optional<StoredLock> Operations::LookFor(const AcquireOp& op, Reply& reply) {
  // A majority may still say "free" where a duplicate key says "held".
  std::optional<StoredLock> seen = Look(*op.collection, *op.key, Sees::kLatest, reply);
  // That it is missing is a result, and a primary that was replaced may lack it.
  if (seen || op.request.insert || !reply.answered()) return seen;
  return Look(*op.collection, *op.key, Sees::kConfirmed, reply);
}

bool Operations::Look(const Collection& collection, std::span<const Key* const> keys,
                      const View& view, const Sighted& visit, Reply& reply) {
  const Layout* const layout = LayoutOf(collection);
  const auto key_at = [&](std::size_t place) {
    return layout == nullptr ? *keys[place] : KeyIn(*layout, *keys[place]);
  };
  std::vector<std::size_t> places(keys.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  while (!places.empty()) {
    Array ids;
    for (const std::size_t place : places) ids.Add(key_at(place));
    const std::int64_t first = FirstPlace();
    Doc command;
    command.Add("find", std::string_view(collection.name()));
    command.Add("filter",
                Doc::Of(KeyFieldOf(layout),
                        ids.size() == 1 ? Equals(key_at(places.front())) : Doc::Of("$in", ids)));
    command.Add("projection", SightProjection(collection, ids, first, view));
    command.Add("batchSize", static_cast<std::int64_t>(ids.size()) + 1);
    if (view.moment != nullptr) {
      view.moment->AddTo(command);
    } else if (view.sees == Sees::kConfirmed) {
      server_.AddLinearizable(command);
    } else {
      command.Add("readConcern", Doc::Of("level", "local"));
    }
    Read(command, reply);
    if (!reply.answered()) return false;
    if (view.moment != nullptr) view.moment->KeepFrom(reply);
    std::vector<bool> shown(places.size(), false);
    reply.ForEachInBatch([&](const bson_t& row) {
      bson_t doc;
      bson_iter_t now;
      const std::optional<std::int64_t> told = PlaceIn(row, first, places.size());
      if (!told || !FindDocument(row, "doc", doc) || !FindField(row, "now", now)) {
        reply.Disown(Effect::kReads);
        return false;
      }
      if (*told < 0) return true;
      const auto at = static_cast<std::size_t>(*told);
      const std::int64_t time = bson_iter_date_time(&now);
      visit(places[at], {ReadLock(doc, collection, time), doc, time});
      shown[at] = true;
      return true;
    });
    if (!reply.answered()) return false;
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!shown[i]) rest.push_back(places[i]);
    }
    places = std::move(rest);
    // Documents that did not fit into one answer come with the next.
    const std::int64_t cursor = reply.cursor_id();
    if (cursor == 0) return true;
    if (!Forget(collection, cursor)) return false;
  }
  return true;
}

std::vector<std::optional<bool>> Operations::JudgeDeletes(const Collection& collection,
                                                          std::span<const Key* const> keys,
                                                          std::int64_t done, const View& view,
                                                          const Survived& survived) {
  std::vector<std::optional<bool>> told(keys.size());
  const bool all = done == static_cast<std::int64_t>(keys.size());
  if (all || done == 0) {
    told.assign(keys.size(), all);
    return told;
  }
  Reply reply;
  const bool complete = Look(
      collection, keys, view,
      [&](std::size_t place, Shown&& shown) {
        if (survived(place, shown)) told[place] = false;
      },
      reply);
  // Those that are gone may have been deleted by other clients, unless the count says otherwise.
  if (complete && std::count(told.begin(), told.end(), std::nullopt) == done) {
    std::replace(told.begin(), told.end(), std::optional<bool>(), std::optional(true));
  }
  return told;
}

bool Operations::Forget(const Collection& collection, std::int64_t cursor) {
  Doc command;
  command.Add("killCursors", std::string_view(collection.name()));
  command.Add("cursors", Array().Add(cursor));
  Reply reply;
  Read(command, reply);
  return reply.answered();
}

}  // namespace doclock::mongodb
