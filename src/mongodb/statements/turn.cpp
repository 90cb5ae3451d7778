#include "mongodb/statements/queue.h"

#include <string>

#include "mongodb/statements/expressions.h"
#include "mongodb/statements/lock_filters.h"
#include "mongodb/statements/statements.h"

namespace doclock::mongodb {
namespace {

Doc IsNot(const Uuid& id) { return Call("$ne", "$$this.id", id); }

/// `in`, where $$others are the live entries, $$at is the place of this id among them (-1: it has
/// none), and $$before are those before it.
Doc WithPlace(const Collection& collection, const Uuid& id, const Doc& in) {
  const Doc before =
      Conditional(Call("$gte", "$$at", 0), Call("$slice", "$$others", "$$at"), "$$others");
  return Let(Doc::Of("others", LiveEntries(collection)),
             Let(Doc::Of("at", Call("$indexOfArray", "$$others.id", id)),
                 Let(Doc::Of("before", before), in)));
}

Doc IsMine() { return And("$$mine"); }

/// Where WithPlace has named the entries: nothing is in the way of this share.
Doc IsItsTurn(const Collection& collection, const GrantRequest& grant) {
  const Doc shares = Doc::Of("$size", Filtered("$$before", Not(IsNothing("$this.share"))));
  const Doc few = And(IsOver(collection), Call("$lt", shares, grant.max_holders));
  return And(OpenExpr(collection),
             Conditional(IsSharedExpr(collection), RoomExpr(collection, grant, shares), few),
             Call("$eq", shares, Doc::Of("$size", "$$before")));
}

}  // namespace

Doc EntryStatement(const AcquireOp& op, const Uuid& instance) {
  const Collection& collection = *op.collection;
  const Doc queue = Let(Doc::Of("others", LiveEntries(collection)),
                        WithEntry(op.request.grant.lock_id, EntryOf(op, instance)));
  Array stages;
  stages.Add(SetStage(Doc::Of(collection.fields().queue, queue)));
  return PipelineStatement(HeldByOtherFilter(op), stages);
}

Doc EntryProjection(const Collection& collection) {
  Doc projection = Doc::Of("now", "$$NOW");
  projection.Add("doc", LockFieldsExpr(collection.fields()));
  return projection;
}

void Turn::AddStages(Array& stages) const {
  const Collection& collection = *op_.collection;
  const FirstGrant grant(collection);
  grant.AddDecision(stages, FirstGrant::Decision(QueueWithEntry(), IsFree(collection)));
  grant.AddGrant(stages, FieldPath(collection.fields().id), Raise::kYes,
                 &op_.request.grant.lock_id);
  if (!waits()) {
    const std::string& queue = collection.fields().queue;
    const Doc others = Filtered(FieldPath(queue), IsNot(op_.request.grant.lock_id));
    stages.Add(SetStage(Doc::Of(queue, others)));
  }
  grant.AddTidying(stages);
}

/// The live entries with the attempt's own: in its place, or as the last.
Doc Turn::QueueWithEntry() const {
  const Collection& collection = *op_.collection;
  const Uuid& id = op_.request.grant.lock_id;
  // The holder does not wait. A lock of this id that is over counts as another's.
  const Doc holds = Conditional(Holds(), Not(IsOver(collection)), false);
  Doc in = Conditional(holds, "$$others", WithEntry(id, EntryOf(op_, instance_)));
  if (waits()) in = Conditional(HasNoRoomFor(collection, id), "$$others", in);
  return Let(Doc::Of("others", LiveEntries(collection)), in);
}

Doc Turn::Granted() const {
  const Collection& collection = *op_.collection;
  const Doc alone = Call("$eq", Doc::Of("$size", "$$live"), 0);
  const Doc mine = Call("$eq", Call("$arrayElemAt", "$$live.id", 0), op_.request.grant.lock_id);
  return And(IsFree(collection), Let(Doc::Of("live", LiveEntries(collection)), Or(alone, mine)));
}

Doc Turn::Holds() const {
  return Call("$eq", FieldPath(op_.collection->fields().id), op_.request.grant.lock_id);
}

void ShareTurn::AddStages(Array& stages) const {
  const Collection& collection = *op_.collection;
  const LockFieldNames& names = collection.fields();
  const FirstGrant grant(collection);
  const Doc decision = FirstGrant::Decision(QueueAfter(), And(Not(IsMine()), IsFree(collection)),
                                            Doc::Of("share", "$$mine"));
  const Doc in = Let(Doc::Of("mine", IsItsTurn(collection, op_.request.grant)), decision);
  grant.AddDecision(stages, WithPlace(collection, op_.request.grant.lock_id, in));
  AddShareGrant(stages, op_, FieldPath(names.queue) + ".share");
  grant.AddGrant(stages, FieldPath(names.id), Raise::kYes);
  grant.AddTidying(stages);
}

Doc ShareTurn::Granted() const {
  return WithPlace(*op_.collection, op_.request.grant.lock_id,
                   IsItsTurn(*op_.collection, op_.request.grant));
}

Doc ShareTurn::Holds() const {
  return AreLiveExpr(*op_.collection, Array().Add(op_.request.grant.lock_id));
}

/// Where WithPlace has named the entries, and $$mine says whether the share is granted: the live
/// entries afterwards.
Doc ShareTurn::QueueAfter() const {
  const Uuid& id = op_.request.grant.lock_id;
  const Doc rest = Filtered("$$others", IsNot(id));
  if (op_.request.grant.queue_for.count() == 0) return Conditional(IsMine(), rest, "$$others");
  const Doc stays = Or(Holds(), HasNoRoomFor(*op_.collection, id));
  const Doc placed = Conditional(stays, "$$others", WithEntry(id, EntryOf(op_, instance_)));
  return Conditional(IsMine(), rest, placed);
}

Doc TurnProjection(const Collection& collection, const Doc& granted, const Doc& holds) {
  Doc projection = Doc::Of("granted", granted);
  projection.Add("now", "$$NOW");
  projection.Add("doc",
                 Conditional(Or(granted, holds), "$$ROOT", LockFieldsExpr(collection.fields())));
  return projection;
}

}  // namespace doclock::mongodb
