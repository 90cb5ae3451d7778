#include "mongodb/operations/operations.h"

#include <algorithm>
#include <numeric>

#include "mongodb/bson/lock_fields.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/write_command.h"

namespace doclock::mongodb {
namespace {

/// Names beside the lock's fields in one command's answer.
constexpr const char* kNow = "doclockNow";
/// How much longer than the rest of a call a missing answer may take.
constexpr std::chrono::milliseconds kOvertime{1000};

Doc LockProjection(const LockFieldNames& names) {
  Doc projection;
  for (const std::string* field : LockFields(names)) projection.Add(*field, 1);
  projection.Add(kNow, "$$NOW");
  return projection;
}

Doc FieldsExpr(const LockFieldNames& names, const Array* mine) {
  Doc fields, is_mine;
  for (const std::string* field : LockFields(names)) fields.Add(*field, FieldPath(*field));
  if (mine == nullptr) return fields;
  is_mine.Add("0", FieldPath(names.id)).AddArray("1", mine->doc());
  return Conditional(Doc::OfArray("$in", is_mine), std::string_view("$$ROOT"), fields);
}

/// The place of the document among `ids`, and what the view shows of it.
Doc SightProjection(const LockFieldNames& names, const Array& ids, const Operations::View& view) {
  Doc projection;
  if (view.whole) {
    projection.Add("doc", "$$ROOT");
  } else {
    projection.Add("doc", FieldsExpr(names, view.mine));
  }
  projection.Add("now", "$$NOW").Add("place", PlaceAmong(ids));
  return projection;
}

/// What the validator of the collection has to allow.
std::string AllowedBy(const StoreOp& op) {
  std::string fields;
  for (const std::string* field : LockFields(op.collection->fields())) AddName(fields, *field);
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
  switch (result.outcome) {
    case Outcome::kAnswered:
      break;
    case Outcome::kRefused:
      op.Fail(Errc::kRefused, result.is_invalid() ? result.text + AllowedBy(op) : result.text);
      return true;
    case Outcome::kNotSent:
      op.Fail(Errc::kUnavailable, result.text);
      return true;
    case Outcome::kDoubt:
      op.Doubt(result.text);
      return true;
  }
  if (!result.is_duplicate() || result.duplicate == "_id") return false;
  op.status = OpStatus::kConflict;
  op.detail = std::make_unique<OpDetail>();
  op.detail->index = result.duplicate;
  return true;
}

void Operations::Execute(StoreOp& op) {
  try {
    Visit(op, [this](auto& one) { Execute(one); });
  } catch (const DocumentException& error) {
    // The body was put into BSON before anything was sent.
    op.Fail(Errc::kDocument, error.what());
  }
}

void Operations::Execute(RenewOp& op) {
  RenewOp* const one = &op;
  Renew({&one, 1});
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

void Operations::FindAndModify(const Collection& collection, const Doc& filter, const Doc& rest,
                               Reply& reply) {
  Doc command;
  command.Add("findAndModify", std::string_view(collection.name())).Add("query", filter);
  bson_concat(command.get(), rest.get());
  Write(command, reply);
}

void Operations::WriteOne(const StoreOp& op, const Doc& statement, Reply& reply) {
  Doc command = CommandOf(VerbOf(op), *op.collection, Array().Add(statement), true);
  Write(command, reply);
}

std::optional<StoredLock> Operations::Look(const Collection& collection, const Key& key,
                                           Reply& reply) {
  Doc command;
  command.Add("find", std::string_view(collection.name()));
  command.Add("filter", Doc::Of("_id", Equals(key)));
  command.Add("projection", LockProjection(collection.fields())).Add("limit", 1);
  command.Add("singleBatch", true);
  // Local: a majority may still say "free" where a duplicate key says "held".
  command.Add("readConcern", Doc::Of("level", "local"));
  Read(command, reply);
  std::optional<StoredLock> lock;
  if (!reply.answered()) return lock;
  reply.ForEachInBatch([&](const bson_t& doc) {
    bson_iter_t now;
    if (FindField(doc, kNow, now)) {
      lock = ReadStoredLock(doc, collection, bson_iter_date_time(&now));
    }
    return false;
  });
  return lock;
}

bool Operations::Look(const Collection& collection, std::span<const Key* const> keys,
                      const View& view, const Sighted& visit, Reply& reply) {
  std::vector<std::size_t> places(keys.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  while (!places.empty()) {
    Array ids;
    for (const std::size_t place : places) ids.Add(*keys[place]);
    Doc command;
    command.Add("find", std::string_view(collection.name()));
    command.Add("filter", Doc::Of("_id", Doc::OfArray("$in", ids.doc())));
    command.Add("projection", SightProjection(collection.fields(), ids, view));
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
      const std::optional<std::size_t> at = PlaceIn(row, places.size());
      if (!at || !FindDocument(row, "doc", doc) || !FindField(row, "now", now)) return true;
      const std::int64_t time = bson_iter_date_time(&now);
      visit(places[*at], {ReadStoredLock(doc, collection, time), doc, time});
      shown[*at] = true;
      return true;
    });
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

bool Operations::Forget(const Collection& collection, std::int64_t cursor) {
  Doc command;
  command.Add("killCursors", std::string_view(collection.name()));
  command.AddArray("cursors", Array().Add(cursor).doc());
  Reply reply;
  Read(command, reply);
  return reply.answered();
}

}  // namespace doclock::mongodb
