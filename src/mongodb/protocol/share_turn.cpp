#include "mongodb/protocol/share_turn.h"

#include <string>
#include <string_view>

#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/first_grant.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/queue_entries.h"
#include "mongodb/protocol/share_filters.h"
#include "mongodb/protocol/sound_lock.h"

namespace doclock::mongodb {
namespace {

constexpr std::string_view kOthers = "$$others", kBefore = "$$before";

/// `in`, where $$others are the live entries, $$at is the place of this id among them (-1: it has
/// none), and $$before are those before it.
Doc WithPlace(const Collection& collection, const Uuid& id, const Doc& in) {
  const Doc at = BinaryOperator("$indexOfArray", std::string_view("$$others.id"), id);
  const Doc known = BinaryOperator("$gte", std::string_view("$$at"), 0);
  const Doc first = BinaryOperator("$slice", kOthers, std::string_view("$$at"));
  const Doc before = Conditional(known, first, kOthers);
  return Let(Doc::Of("others", LiveEntries(collection)),
             Let(Doc::Of("at", at), Let(Doc::Of("before", before), in)));
}

Doc IsMine() { return Doc::OfArray("$and", Array().Add(std::string_view("$$mine")).doc()); }

/// Where WithPlace has named the entries: nothing is in the way of this share.
Doc IsItsTurn(const Collection& collection, const GrantRequest& grant) {
  const Doc shares = Doc::Of("$size", Filtered(kBefore, Not(IsNothing("$this.share"))));
  const Doc no_writers = BinaryOperator("$eq", shares, Doc::Of("$size", kBefore));
  const Doc room = RoomExpr(collection, grant, shares);
  const Doc over = IsOver(collection);
  const Doc few = BinaryOperator("$lt", shares, grant.max_holders);
  const Doc lock = Conditional(IsSharedExpr(collection), room, And({&over, &few}));
  const Doc open = OpenExpr(collection);
  return And({&open, &lock, &no_writers});
}

}  // namespace

Doc ShareTurn::Granted() const {
  return WithPlace(*op_.collection, op_.grant.lock_id, IsItsTurn(*op_.collection, op_.grant));
}

Doc ShareTurn::Holds() const {
  return AnyLiveExpr(*op_.collection, Array().Add(op_.grant.lock_id));
}

/// Where WithPlace has named the entries, and $$mine says whether the share is granted: the live
/// entries afterwards.
Doc ShareTurn::QueueAfter() const {
  const Uuid& id = op_.grant.lock_id;
  const Doc other = BinaryOperator("$ne", std::string_view("$$this.id"), id);
  const Doc rest = Filtered(kOthers, other);
  if (op_.grant.queue_for.count() == 0) return Conditional(IsMine(), rest, kOthers);
  const Doc stays = Or(Holds(), HasNoRoomFor(*op_.collection, id));
  const Doc placed = Conditional(stays, kOthers, WithEntry(id, EntryOf(op_, instance_)));
  return Conditional(IsMine(), rest, placed);
}

void ShareTurn::AddStages(Array& stages) const {
  const Collection& collection = *op_.collection;
  const LockFieldNames& names = collection.fields();
  const FirstGrant grant(collection);
  const Doc others_turn = Not(IsMine()), free = IsFree(collection);
  const Doc decision =
      FirstGrant::Decision(QueueAfter(), And({&others_turn, &free}), Doc::Of("share", "$$mine"));
  const Doc in = Let(Doc::Of("mine", IsItsTurn(collection, op_.grant)), decision);
  grant.AddDecision(stages, WithPlace(collection, op_.grant.lock_id, in));
  AddShareGrant(stages, op_, FieldPath(names.queue) + ".share");
  grant.AddGrant(stages, FieldPath(names.id), Raise::kYes);
  grant.AddTidying(stages);
}

}  // namespace doclock::mongodb
