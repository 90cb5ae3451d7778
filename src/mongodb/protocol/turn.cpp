#include "mongodb/protocol/turn.h"

#include <string>
#include <string_view>

#include "mongodb/bson/lock_fields.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/first_grant.h"
#include "mongodb/protocol/queue_entries.h"
#include "mongodb/protocol/set_where.h"
#include "mongodb/protocol/sound_lock.h"

namespace doclock::mongodb {

void Turn::AddStages(Array& stages) const {
  const Collection& collection = *op_.collection;
  const FirstGrant grant(collection);
  grant.AddDecision(stages, FirstGrant::Decision(QueueWithEntry(), IsFree(collection)));
  grant.AddGrant(stages, FieldPath(collection.fields().id), Raise::kYes, &op_.grant.lock_id);
  if (!waits()) {
    const std::string& queue = collection.fields().queue;
    const Doc other = BinaryOperator("$ne", std::string_view("$$this.id"), op_.grant.lock_id);
    stages.Add(SetStage(Doc::Of(queue, Filtered(FieldPath(queue), other))));
  }
  grant.AddTidying(stages);
}

/// The live entries with the attempt's own: in its place, or as the last.
Doc Turn::QueueWithEntry() const {
  const Collection& collection = *op_.collection;
  const Uuid& id = op_.grant.lock_id;
  const std::string_view others = "$$others";
  // The holder does not wait. A lock of this id that is over counts as another's.
  const Doc over = IsOver(collection);
  const Doc holds = Conditional(Holds(), Not(over), false);
  Doc in = Conditional(holds, others, WithEntry(id, EntryOf(op_, instance_)));
  if (waits()) in = Conditional(HasNoRoomFor(collection, id), others, in);
  return Let(Doc::Of("others", LiveEntries(collection)), in);
}

Doc Turn::Granted() const {
  const Collection& collection = *op_.collection;
  Array first;
  first.Add(std::string_view("$$live.id")).Add(0);
  const Doc alone = BinaryOperator("$eq", Doc::Of("$size", "$$live"), 0);
  const Doc mine =
      BinaryOperator("$eq", Doc::OfArray("$arrayElemAt", first.doc()), op_.grant.lock_id);
  const Doc turn = Let(Doc::Of("live", LiveEntries(collection)), Or(alone, mine));
  const Doc free = IsFree(collection);
  return And({&free, &turn});
}

Doc Turn::Holds() const {
  return BinaryOperator("$eq", std::string_view(FieldPath(op_.collection->fields().id)),
                        op_.grant.lock_id);
}

Doc TurnProjection(const Collection& collection, const Doc& granted, const Doc& holds) {
  Doc fields;
  for (const std::string* field : LockFields(collection.fields())) {
    fields.Add(*field, FieldPath(*field));
  }
  Doc projection;
  projection.Add("granted", granted).Add("now", "$$NOW");
  projection.Add("doc", Conditional(Or(granted, holds), std::string_view("$$ROOT"), fields));
  return projection;
}

}  // namespace doclock::mongodb
