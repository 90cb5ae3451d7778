#include "mongodb/statements/queue.h"

#include <algorithm>
#include <string_view>

#include "mongodb/bson/bson.h"
#include "mongodb/statements/lock_filters.h"
#include "mongodb/statements/stored_lock.h"
#include "mongodb/statements/update.h"

namespace doclock::mongodb {
namespace {

/// The entry is sound, and its time is not over.
Doc IsLiveEntry() {
  const Doc longest = Call("$add", "$$NOW", std::int64_t{rules::kLongestEntry.count()});
  return And(Call("$gt", "$$this.id", Uuid{}), Call("$lte", "$$this.id", HighestUuid()),
             Call("$ne", "$$this.id", kSharedLockId), TypeIn("$this.until", {"date"}),
             Call("$gt", "$$this.until", "$$NOW"), Call("$lte", "$$this.until", longest),
             NumberUpTo("$this.ttl", kLongestTtlMs),
             Or(IsNothing("$this.share"), NumberUpTo("$this.share", kMaxHolders)));
}

Doc FilteredQueue(const Collection& collection, const Doc& condition) {
  const std::string& queue = collection.fields().queue;
  return Filtered(Conditional(TypeIn(queue, {"array"}), FieldPath(queue), Array()), condition);
}

Doc IsKnown(const Uuid& id) { return Call("$in", id, "$$others.id"); }

/// True of an empty queue.
Doc FirstIsExclusive(std::string_view queue) {
  return Let(Doc::Of("head", Call("$arrayElemAt", queue, 0)), IsNothing("$head.share"));
}

}  // namespace

Doc LiveEntries(const Collection& collection) { return FilteredQueue(collection, IsLiveEntry()); }

Doc EntryOf(const AcquireOp& op, const Uuid& instance) {
  const GrantRequest& grant = op.request.grant;
  // An attempt that does not wait stands in the queue only while this command decides.
  const auto stays = std::max<std::int64_t>(grant.queue_for.count(), 1);
  Doc entry;
  entry.Add("id", grant.lock_id).Add("until", Call("$add", "$$NOW", stays));
  entry.Add("ttl", grant.ttl);
  if (grant.min_hold.count() > 0) entry.Add("hold", grant.min_hold);
  if (grant.owner) entry.Add("owner", Doc::Of("$literal", OwnerDoc(*grant.owner)));
  if (!grant.group.empty()) entry.Add("group", Doc::Of("$literal", grant.group));
  if (grant.mode == LockMode::kShared) entry.Add("share", grant.max_holders);
  WakeId(instance, grant.lock_id).AddTo(entry, "wake");
  return entry;
}

Doc WithEntry(const Uuid& id, const Doc& entry) {
  const Doc in_place = Conditional(Call("$eq", "$$this.id", id), entry, "$$this");
  return Conditional(IsKnown(id), Mapped("$$others", in_place),
                     Call("$concatArrays", "$$others", Array().Add(entry)));
}

Doc HasNoRoomFor(const Collection& collection, const Uuid& id) {
  // The grant of a free lock to the first makes room for one.
  const Doc grants = And(IsFree(collection), FirstIsExclusive("$$others"));
  const Doc most = Conditional(grants, kMostEntries + 1, kMostEntries);
  return And(Call("$gte", Doc::Of("$size", "$$others"), most), Not(IsKnown(id)));
}

void AddNoQueue(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().queue, Doc::Of("$exists", false));
}

Doc NobodyWaitsExpr(const Collection& collection) {
  return Or(IsNothing(collection.fields().queue),
            Call("$eq", Doc::Of("$size", LiveEntries(collection)), 0));
}

void AddEntryRemoval(Array& stages, const Collection& collection, const Uuid& id) {
  const Doc others = FilteredQueue(collection, And(Call("$ne", "$$this.id", id), IsLiveEntry()));
  stages.Add(SetStage(Doc::Of(collection.fields().queue, others)));
  FirstGrant(collection).AddTidying(stages);
}

void AddGrantToFirst(Array& stages, const Collection& collection) {
  const FirstGrant grant(collection);
  grant.AddDecision(stages, FirstGrant::Decision(LiveEntries(collection), OpenExpr(collection)));
  grant.AddGrant(stages, nullptr, Raise::kNo);
  grant.AddTidying(stages);
}

void AddGrantAfterLastShare(Array& stages, const Collection& collection, Raise raise) {
  const std::string& id = collection.fields().id;
  const FirstGrant grant(collection);
  grant.AddDecision(stages, FirstGrant::Decision(LiveEntries(collection),
                                                 And(IsNothing(id), OpenExpr(collection))));
  grant.AddGrant(stages, FieldPath(id), raise);
  grant.AddTidying(stages);
}

Doc FirstGrant::Decision(const Doc& queue, const Doc& may, const Doc& more) {
  Doc in;
  in.Add("live", "$$live").Add("first", Call("$arrayElemAt", "$$live", 0));
  in.Add("go", And(Call("$gt", Doc::Of("$size", "$$live"), 0), FirstIsExclusive("$$live"), may));
  bson_concat(in.get(), more.get());
  return Let(Doc::Of("live", queue), in);
}

void FirstGrant::AddDecision(Array& stages, const Doc& decision) const {
  stages.Add(SetStage(Doc::Of(names_.queue, decision)));
}

void FirstGrant::AddGrantOf(Array& stages, const Doc& id, Raise raise, const Uuid* own) const {
  const auto& where = where_go_;
  const std::string first = queue_ + ".first.";
  const Doc probation = Call("$min", first + "ttl", std::int64_t{kProbation.count()});
  Doc set;
  set.Add(names_.id, id);
  where.Set(set, names_.time, "$$NOW");
  if (own == nullptr) {
    where.Set(set, names_.ttl, probation);
    where.Set(set, names_.passed, Call("$ifNull", first + "wake", "$$REMOVE"));
  } else {
    const Doc is_own = Call("$eq", first + "id", *own);
    where.Set(set, names_.ttl, Conditional(is_own, first + "ttl", probation));
    // The attempt itself gets no notification: it has the answer.
    where.Set(set, names_.passed, Conditional(is_own, FieldPath(names_.passed), first + "wake"));
  }
  where.Set(set, names_.owner, Call("$ifNull", first + "owner", nullptr));
  where.Set(set, names_.group, first + "group");
  // The min_hold of an earlier grant is over.
  where.Set(set, names_.closed,
            Conditional(NumberUpTo(names_.queue + ".first.hold", kLongestTtlMs),
                        Call("$add", "$$NOW", first + "hold"), "$$REMOVE"));
  where.Set(set, names_.readers, "$$REMOVE");
  if (raise == Raise::kYes) where.Set(set, names_.version, NextVersion(names_.version));
  const Doc rest = Call("$slice", queue_ + ".live", 1, kMostEntries + 1);
  set.Add(names_.queue, Conditional(where.Flag(), rest, queue_ + ".live"));
  stages.Add(SetStage(set));
}

void FirstGrant::AddTidying(Array& stages) const {
  const Doc is_empty = Call("$eq", queue_, Array());
  stages.Add(SetStage(Doc::Of(names_.queue, Conditional(is_empty, "$$REMOVE", queue_))));
}

}  // namespace doclock::mongodb
