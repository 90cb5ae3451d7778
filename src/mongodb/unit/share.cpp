#include "mongodb/bson/body_codec.h"
#include "mongodb/statements/lock_filters.h"
#include "mongodb/statements/queue.h"
#include "mongodb/statements/statements.h"
#include "mongodb/unit/operations.h"

// Taking a share, and giving it back.

namespace doclock::mongodb {
namespace {

/// The stage that puts the members of a body beside what is there.
void AddMembers(Array& stages, const Body& body) {
  Doc members;
  AppendMembers(members, TreeForBson(body));
  Array parts;
  parts.Add("$$ROOT").Add(Doc::Of("$literal", members));
  stages.Add(Doc::Of("$replaceWith", Doc::Of("$mergeObjects", parts)));
}

}  // namespace

void Operations::AcquireShare(AcquireOp& op) {
  // A caller that waits was refused already, and where others waited a moment ago, they may still.
  const bool waits = op.request.grant.queue_for.count() > 0;
  if ((waits || op.queue_likely) && TakeTurn(op)) return;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (TryShare(op)) return;
    Reply reply;
    const std::optional<StoredLock> seen = LookFor(op, reply);
    if (Settled(op, reply)) return;
    if (seen && seen->has_queue && !seen->malformed()) {
      if (TakeTurn(op)) return;
      continue;
    }
    if (JudgeAcquire(op, seen ? &*seen : nullptr)) return;
    if (!seen && MakeShared(op)) return;
  }
  BusyWithOthers(op);
}

/// One command for a document that is there. Returns true; false if there is none, or it cannot be
/// shared now, or there is a queue.
bool Operations::TryShare(AcquireOp& op) {
  const Collection& collection = *op.collection;
  Doc filter = SoundLockFilter(op);
  AddNoQueue(filter, collection);
  filter.Add("$expr", ShareableExpr(collection, op.request.grant));
  Array stages;
  AddShareGrant(stages, op);
  Reply reply;
  // The document as it was shows whose lock was taken over; its body is the same.
  ModifyAndShow(collection, PipelineStatement(filter, stages), Doc::Of("doc", "$$ROOT"), Doc(),
                reply);
  return GaveUp(op, reply) || GrantedShare(op, reply);
}

bool Operations::GrantedShare(AcquireOp& op, const Reply& reply) {
  bson_t value, doc;
  if (!reply.Document("value", value) || !FindDocument(value, "doc", doc)) return false;
  const StoredLock before = ReadStoredLock(doc, *op.collection, 0);
  op.result.version = before.version + 1;
  op.result.born = before.born;
  op.result.body = Body::FromJson(ReadBody(doc, op.collection->fields()));
  op.result.took_over = before.HasLockId() && !before.IsShared();
  op.status = OpStatus::kDone;
  return true;
}

/// One command for a document that is missing. The server takes no expressions in the filter of an
/// upsert; so this asks for a document of an incarnation that none has, and makes it. Returns true;
/// false if another client was faster.
bool Operations::MakeShared(AcquireOp& op) {
  const LockFieldNames& names = op.collection->fields();
  const Uuid& born = op.request.grant.lock_id;
  Doc filter;
  filter.Add("_id", Equals(*op.key)).Add(names.born, Equals(born));
  Array stages;
  AddMembers(stages, op.request.insert);
  AddShareGrant(stages, op);
  Doc rest = Doc::Of("new", true);
  rest.Add("upsert", true);
  Reply reply;
  FindAndModify(*op.collection, op.key, PipelineStatement(filter, stages), rest, reply);
  if (GaveUp(op, reply)) return true;
  bson_t value;
  if (reply.is_duplicate() || !reply.Document("value", value)) return false;
  const StoredLock made = ReadStoredLock(value, *op.collection, 0);
  if (made.born != born) {
    op.Doubt(kOtherQuestion);
    return true;
  }
  op.result.version = made.version;
  op.result.born = born;
  op.result.body = op.request.insert;
  op.result.created = true;
  op.status = OpStatus::kDone;
  return true;
}

void Operations::ReleaseShare(WriteOp& op) {
  const ReleaseTo to = op.queue_likely ? ReleaseTo::kFirst : ReleaseTo::kNobody;
  if (TryReleaseShare(op, to) || to == ReleaseTo::kFirst) return;
  TryReleaseShare(op, ReleaseTo::kFirst);
}

/// Returns true; false if nothing matched.
bool Operations::TryReleaseShare(WriteOp& op, ReleaseTo to) {
  const Collection& collection = *op.collection;
  const LockFieldNames& names = collection.fields();
  Doc filter;
  filter.Add("_id", Equals(*op.key)).Add(names.id, Equals(kSharedLockId));
  AddSound(filter, collection);
  if (to == ReleaseTo::kNobody) AddNoQueue(filter, collection);
  filter.Add("$expr", AreLiveExpr(collection, Array().Add(op.request.lock_id)));
  Array stages;
  AddShareRelease(stages, collection, op.request.lock_id, op.request.ReleaseId());
  if (op.request.body) {
    AddMembers(stages, op.request.body);
    AddVersionRaise(stages, collection);
  }
  if (to == ReleaseTo::kFirst) {
    AddGrantAfterLastShare(stages, collection, op.request.body ? Raise::kNo : Raise::kYes);
  }
  return WriteAndShow(op, PipelineStatement(filter, stages), Doc::Of("new", true), 0);
}

}  // namespace doclock::mongodb
