#include "mongodb/protocol/queue_entries.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "mongodb/bson/uuid_bounds.h"
#include "mongodb/bson/wake_id.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/first_grant.h"
#include "mongodb/protocol/sound_lock.h"
#include "mongodb/protocol/stored_lock.h"
#include "mongodb/protocol/update.h"

namespace doclock::mongodb {
namespace {

/// The entry is sound, and its time is not over.
Doc IsLiveEntry() {
  const Doc low = BinaryOperator("$gt", std::string_view("$$this.id"), Uuid{});
  const Doc high = BinaryOperator("$lte", std::string_view("$$this.id"), HighestUuid());
  const Doc own = BinaryOperator("$ne", std::string_view("$$this.id"), kSharedLockId);
  const Doc date = TypeIn("$this.until", {"date"});
  const Doc live =
      BinaryOperator("$gt", std::string_view("$$this.until"), std::string_view("$$NOW"));
  const Doc longest =
      BinaryOperator("$add", std::string_view("$$NOW"), std::int64_t{rules::kLongestEntry.count()});
  const Doc near = BinaryOperator("$lte", std::string_view("$$this.until"), longest);
  const Doc ttl = NumberUpTo("$this.ttl", kLongestTtlMs);
  const Doc share = Or(IsNothing("$this.share"), NumberUpTo("$this.share", kMaxHolders));
  return And({&low, &high, &own, &date, &live, &near, &ttl, &share});
}

Doc FilteredQueue(const Collection& collection, const Doc& condition) {
  const std::string& queue = collection.fields().queue;
  Doc input;
  input.Add("0", TypeIn(queue, {"array"})).Add("1", FieldPath(queue)).AddArray("2", Doc());
  return Filtered(Doc::OfArray("$cond", input), condition);
}

Doc IsKnown(const Uuid& id) { return BinaryOperator("$in", id, std::string_view("$$others.id")); }

}  // namespace

Doc Let(const Doc& vars, const Doc& in) {
  Doc args;
  args.Add("vars", vars).Add("in", in);
  return Doc::Of("$let", args);
}

Doc LiveEntries(const Collection& collection) { return FilteredQueue(collection, IsLiveEntry()); }

Doc LiveEntriesBut(const Collection& collection, const Uuid& id) {
  const Doc live = IsLiveEntry();
  const Doc other = BinaryOperator("$ne", std::string_view("$$this.id"), id);
  return FilteredQueue(collection, And({&other, &live}));
}

Doc EntryOf(const AcquireOp& op, const Uuid& instance) {
  const GrantRequest& grant = op.grant;
  Doc entry;
  entry.Add("id", grant.lock_id);
  // An attempt that does not wait stands in the queue only while this command decides.
  entry.Add("until",
            BinaryOperator("$add", std::string_view("$$NOW"),
                           std::int64_t{std::max<std::int64_t>(grant.queue_for.count(), 1)}));
  entry.Add("ttl", grant.ttl);
  if (grant.min_hold.count() > 0) entry.Add("hold", grant.min_hold);
  if (grant.owner) entry.Add("owner", Doc::Of("$literal", OwnerDoc(*grant.owner)));
  if (!grant.group.empty()) entry.Add("group", Doc::Of("$literal", grant.group));
  if (grant.mode == LockMode::kShared) entry.Add("share", grant.max_holders);
  WakeId(instance, grant.lock_id).AddTo(entry, "wake");
  return entry;
}

Doc WithEntry(const Uuid& id, const Doc& entry) {
  const Doc mine = BinaryOperator("$eq", std::string_view("$$this.id"), id);
  Doc map, both;
  map.Add("input", "$$others").Add("in", Conditional(mine, entry, std::string_view("$$this")));
  both.Add("0", "$$others").AddArray("1", Array().Add(entry).doc());
  return Conditional(IsKnown(id), Doc::Of("$map", map), Doc::OfArray("$concatArrays", both));
}

Doc HasNoRoomFor(const Collection& collection, const Uuid& id) {
  // The grant of a free lock to the first makes room for one.
  const Doc free = IsFree(collection), grants = FirstGrant::FirstIsExclusive("$$others");
  const Doc most = Conditional(And({&free, &grants}), kMostEntries + 1, kMostEntries);
  const Doc full = BinaryOperator("$gte", Doc::Of("$size", "$$others"), most);
  const Doc unknown = Not(IsKnown(id));
  return And({&full, &unknown});
}

}  // namespace doclock::mongodb
