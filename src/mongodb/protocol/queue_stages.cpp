#include "mongodb/protocol/queue_stages.h"

#include <string_view>

#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/queue_entries.h"

namespace doclock::mongodb {

void AddNoQueue(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().queue, Doc::Of("$exists", false));
}

Doc NobodyWaitsExpr(const Collection& collection) {
  const Doc none = BinaryOperator("$eq", Doc::Of("$size", LiveEntries(collection)), 0);
  return Or(IsNothing(collection.fields().queue), none);
}

void AddEntryRemoval(Array& stages, const Collection& collection, const Uuid& id) {
  stages.Add(SetStage(Doc::Of(collection.fields().queue, LiveEntriesBut(collection, id))));
  FirstGrant(collection).AddTidying(stages);
}

void AddPassOn(Array& stages, const Collection& collection) {
  const FirstGrant grant(collection);
  grant.AddDecision(stages, FirstGrant::Decision(LiveEntries(collection), OpenExpr(collection)));
  grant.AddGrant(stages, nullptr, Raise::kNo);
  grant.AddTidying(stages);
}

void AddPassOnOfLastShare(Array& stages, const Collection& collection, Raise raise) {
  const std::string& id = collection.fields().id;
  const FirstGrant grant(collection);
  const Doc last = IsNothing(id), open = OpenExpr(collection);
  grant.AddDecision(stages, FirstGrant::Decision(LiveEntries(collection), And({&last, &open})));
  grant.AddGrant(stages, FieldPath(id), raise);
  grant.AddTidying(stages);
}

}  // namespace doclock::mongodb
