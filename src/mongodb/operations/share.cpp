#include <algorithm>

#include "mongodb/bson/body_codec.h"
#include "mongodb/operations/operations.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/share_filters.h"
#include "mongodb/protocol/statements.h"
#include "rules/fault.h"

// Taking a share, and giving it back.

namespace doclock::mongodb {
namespace {

std::vector<const StoredShare*> LiveShares(const StoredLock& lock) {
  std::vector<const StoredShare*> live;
  for (const StoredShare& share : lock.shares) {
    if (lock.shared() && share.live()) live.push_back(&share);
  }
  return live;
}

void BusyUntil(StoreOp& op, const StoredShare* with, std::chrono::milliseconds remaining) {
  op.status = OpStatus::kBusy;
  op.detail = std::make_unique<OpDetail>();
  if (with != nullptr) op.detail->holder = with->holder;
  op.detail->remaining = remaining;
}

/// False: it is worth another attempt.
bool JudgeShare(AcquireOp& op, const StoredLock& seen) {
  const std::vector<const StoredShare*> live = LiveShares(seen);
  const StoredShare* const one = live.empty() ? nullptr : live.front();
  if (seen.state == StoredLock::State::kMalformed) {
    Malformed(op, seen);
  } else if (!seen.shared() && seen.live()) {
    Busy(op, seen);
  } else if (live.size() >= static_cast<std::size_t>(op.grant.max_holders)) {
    const auto first = *std::min_element(
        live.begin(), live.end(),
        [](const StoredShare* a, const StoredShare* b) { return a->left < b->left; });
    BusyUntil(op, first, std::max(first->left, seen.closed_left));
  } else if (seen.intent && seen.intent->left.count() > 0) {
    BusyUntil(op, one, std::max(seen.intent->left, seen.closed_left));
  } else if (seen.closed_left.count() > 0) {
    BusyUntil(op, one, seen.closed_left);
    if (one == nullptr) op.detail->message = "min_hold";
  } else if (seen.LiveShare(op.grant.lock_id) != nullptr) {
    op.Fail(Errc::kRefused, kShareExistsText);
  } else {
    return false;
  }
  return true;
}

/// The stage that puts the members of a body beside what is there.
void AddMembers(Array& stages, const Body& body) {
  Doc members;
  AppendMembers(members, body.json());
  Array parts;
  parts.Add(std::string_view("$$ROOT")).Add(Doc::Of("$literal", members));
  stages.Add(Doc::Of("$replaceWith", Doc::OfArray("$mergeObjects", parts.doc())));
}

Doc RestOf(const Array& stages, bool made) {
  Doc rest;
  rest.AddArray("update", stages.doc());
  // A document that was there shows whose lock was taken over; its body is the same.
  rest.Add("new", made).Add("upsert", made);
  return rest;
}

}  // namespace

void Operations::AcquireShare(AcquireOp& op) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (TryShare(op)) return;
    Reply reply;
    const std::optional<StoredLock> seen = Look(*op.collection, *op.key, reply);
    if (Settled(op, reply)) return;
    if (seen) {
      if (JudgeShare(op, *seen)) return;
    } else if (!op.insert) {
      op.status = OpStatus::kMissing;
      return;
    } else if (MakeShared(op)) {
      return;
    }
  }
  BusyWithOthers(op);
}

/// One command for a document that is there. False: there is none, or it cannot be shared now.
bool Operations::TryShare(AcquireOp& op) {
  const Collection& collection = *op.collection;
  Doc filter;
  filter.Add("_id", Equals(*op.key));
  AddGoodFields(filter, collection);
  filter.Add("$expr", ShareableExpr(collection, op.grant));
  Array stages;
  AddShareGrant(stages, op);
  Reply reply;
  FindAndModify(collection, filter, RestOf(stages, false), reply);
  return GaveUp(op, reply) || GrantedShare(op, reply);
}

bool Operations::GrantedShare(AcquireOp& op, const Reply& reply) {
  bson_t value;
  if (!reply.Document("value", value)) return false;
  const StoredLock before = ReadStoredLock(value, *op.collection, 0);
  op.version = before.version + 1;
  op.born = before.born;
  op.body = Body::FromJson(ReadBody(value, op.collection->fields()));
  op.took_over = !before.lock_id.is_nil() && !before.shared();
  op.status = OpStatus::kDone;
  return true;
}

/// One command for a document that is missing. The server takes no expressions in the filter of an
/// upsert; so this asks for a document of an incarnation that nobody has, and makes it. False:
/// somebody was faster.
bool Operations::MakeShared(AcquireOp& op) {
  const LockFieldNames& names = op.collection->fields();
  const Uuid& born = op.grant.lock_id;
  Doc filter;
  filter.Add("_id", Equals(*op.key)).Add(names.born, Equals(born));
  Array stages;
  AddMembers(stages, op.insert);
  AddShareGrant(stages, op);
  Reply reply;
  FindAndModify(*op.collection, filter, RestOf(stages, true), reply);
  if (GaveUp(op, reply)) return true;
  bson_t value;
  if (reply.is_duplicate() || !reply.Document("value", value)) return false;
  op.version = ReadStoredLock(value, *op.collection, 0).version;
  op.born = born;
  op.body = op.insert;
  op.created = true;
  op.status = OpStatus::kDone;
  return true;
}

/// After a writer was told that shares stand in the way. Whatever becomes of it, that stays true;
/// and the next attempt leaves the intent anew.
void Operations::LeaveIntent(const AcquireOp& op, const StoredLock& seen) {
  const Uuid& id = op.grant.intent_id;
  if (id.is_nil() || !seen.shared() || !seen.live()) return;
  if (seen.intent && seen.intent->left.count() > 0 && seen.intent->id != id) return;
  const LockFieldNames& names = op.collection->fields();
  Doc filter;
  filter.Add("_id", Equals(*op.key)).Add(names.id, Equals(kSharedLockId));
  filter.Add("$expr", NoOthersIntentExpr(*op.collection, id));
  Array sum;
  sum.Add(std::string_view("$$NOW")).Add(std::int64_t{op.grant.intent.count()});
  Doc intent;
  intent.Add("id", id).Add("until", Doc::OfArray("$add", sum.doc()));
  Array stages;
  stages.Add(Doc::Of("$set", Doc::Of(names.intent, intent)));
  Doc statement, command;
  statement.Add("q", filter).AddArray("u", stages.doc());
  command.Add("update", std::string_view(op.collection->name()));
  command.AddArray("updates", Array().Add(statement).doc());
  Reply reply;
  Write(command, reply);
}

void Operations::ReleaseShare(WriteOp& op) {
  const Collection& collection = *op.collection;
  const LockFieldNames& names = collection.fields();
  Doc filter, rest;
  filter.Add("_id", Equals(*op.key)).Add(names.id, Equals(kSharedLockId));
  AddGoodFields(filter, collection);
  filter.Add("$expr", AnyLiveExpr(collection, Array().Add(op.lock_id)));
  Array stages;
  AddShareRelease(stages, collection, op.lock_id, MarkOf(op));
  if (op.body) {
    AddMembers(stages, op.body);
    AddVersionRaise(stages, collection);
  }
  rest.AddArray("update", stages.doc()).Add("fields", Doc::Of(names.version, 1));
  Reply reply;
  FindAndModify(collection, filter, rest, reply);
  if (Settled(op, Single(reply))) return;
  bson_t found;
  if (!reply.Document("value", found)) return NotMine(op);
  op.version = ReadStoredLock(found, collection, 0).version + (op.body ? 1 : 0);
  op.status = OpStatus::kDone;
}

}  // namespace doclock::mongodb
