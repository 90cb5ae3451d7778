#include "mongodb/statements/lock_filters.h"

#include <string>
#include <string_view>

#include "mongodb/statements/expressions.h"
#include "mongodb/statements/stored_lock.h"
#include "mongodb/statements/update.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// Of a good reader; of another it says nothing.
Doc IsLive() {
  return Conditional(IsLeaseTime("$this.time"), Call("$lt", AgeOf("$this.time"), "$$this.ttl"),
                     false);
}

/// The same.
Doc LiveOneOf(const Array& ids) { return And(Call("$in", "$$this.id", ids), IsLive()); }

/// The remaining time of a good reader.
Doc Left() {
  return Call("$subtract", "$$this.ttl", Call("$max", std::int64_t{0}, AgeOf("$this.time")));
}

/// The live shares; an empty array for a document without shares.
Doc LiveReaders(const Collection& collection) {
  const std::string readers = FieldPath(collection.fields().readers);
  return Conditional(And(IsSharedExpr(collection), Doc::Of("$isArray", readers)),
                     Filtered(readers, IsLive()), Array());
}

/// The remaining time of the stored reader that ends last, and at least `least`.
Doc Cover(const Collection& collection, milliseconds least) {
  return Call("$max", std::int64_t{least.count()},
              Doc::Of("$max", Mapped(FieldPath(collection.fields().readers), Left())));
}

Doc ReaderOf(const GrantRequest& grant, const std::string& version) {
  Doc reader;
  reader.Add("id", grant.lock_id).Add("time", "$$NOW").Add("ttl", grant.ttl);
  if (grant.owner) reader.Add("owner", Doc::Of("$literal", OwnerDoc(*grant.owner)));
  if (!grant.group.empty()) reader.Add("group", Doc::Of("$literal", grant.group));
  reader.Add("fence", NextVersion(version));
  return reader;
}

}  // namespace

Doc IsSharedExpr(const Collection& collection) {
  return Call("$eq", FieldPath(collection.fields().id), kSharedLockId);
}

Doc RoomExpr(const Collection& collection, const GrantRequest& grant, const Doc& before) {
  const Doc all = Call("$add", Doc::Of("$size", "$$live"), before);
  return Let(
      Doc::Of("live", LiveReaders(collection)),
      And(Call("$lt", all, grant.max_holders), Not(Call("$in", grant.lock_id, "$$live.id"))));
}

Doc ShareableExpr(const Collection& collection, const GrantRequest& grant) {
  const Doc room = RoomExpr(collection, grant, Doc::Of("$literal", 0));
  return And(OpenExpr(collection),
             Conditional(IsSharedExpr(collection), room, NotLiveExpr(collection)));
}

Doc AreLiveExpr(const Collection& collection, const Array& ids) {
  return Call("$setIsSubset", ids, Mapped(LiveReaders(collection), "$$this.id"));
}

void AddShareGrant(Array& stages, const AcquireOp& op, const std::string& flag) {
  const Collection& collection = *op.collection;
  const LockFieldNames& names = collection.fields();
  const GrantRequest& grant = op.request.grant;
  const SetWhere where(flag);
  Doc live, set;
  where.Set(live, names.readers, LiveReaders(collection));
  stages.Add(SetStage(live));
  where.Set(set, names.id, kSharedLockId);
  where.Set(set, names.time, "$$NOW");
  where.Set(set, names.ttl, Cover(collection, grant.ttl));
  where.Set(set, names.version, NextVersion(names.version));
  where.Set(
      set, names.readers,
      Call("$concatArrays", FieldPath(names.readers), Array().Add(ReaderOf(grant, names.version))));
  where.Set(set, names.owner,
            grant.owner ? Doc::Of("$literal", OwnerDoc(*grant.owner)) : Doc::OfNull("$literal"));
  where.Set(set, names.group, "$$REMOVE");  // each share has its own
  if (grant.min_hold.count() > 0) {
    where.Set(set, names.closed, Call("$add", "$$NOW", std::int64_t{grant.min_hold.count()}));
  } else {
    where.Set(set, names.closed, "$$REMOVE");  // a min_hold is over
  }
  stages.Add(SetStage(set));
}

void AddShareRenewal(Array& stages, const Collection& collection, const Array& ids,
                     milliseconds ttl) {
  const LockFieldNames& names = collection.fields();
  Doc lease = Doc::Of("time", "$$NOW");
  lease.Add("ttl", Call("$max", std::int64_t{ttl.count()}, Left()));
  const Doc renewed = Call("$mergeObjects", "$$this", lease);
  stages.Add(
      SetStage(Doc::Of(names.readers, Mapped(FieldPath(names.readers),
                                             Conditional(LiveOneOf(ids), renewed, "$$this")))));
  Doc cover = Doc::Of(names.time, "$$NOW");
  cover.Add(names.ttl, Cover(collection, milliseconds(0)));
  stages.Add(SetStage(cover));
}

void AddShareRelease(Array& stages, const Collection& collection, const Uuid& id,
                     const Uuid& mark) {
  const LockFieldNames& names = collection.fields();
  const std::string readers = FieldPath(names.readers);
  const Doc others = Filtered(readers, And(Call("$ne", "$$this.id", id), IsLive()));
  stages.Add(SetStage(Doc::Of(names.readers, others)));
  const Doc last = Call("$eq", Doc::Of("$size", readers), 0);
  Doc set = Doc::Of(names.id, Call("$cond", last, nullptr, kSharedLockId));
  set.Add(names.time, Conditional(last, FieldPath(names.time), "$$NOW"));
  set.Add(names.ttl, Conditional(last, FieldPath(names.ttl), Cover(collection, milliseconds(0))));
  // For every share, not only for the last: it wakes those who wait for any share to end.
  set.Add(names.released, mark);
  set.Add(names.readers, Conditional(last, "$$REMOVE", readers));
  stages.Add(SetStage(set));
}

void AddVersionRaise(Array& stages, const Collection& collection) {
  const std::string& version = collection.fields().version;
  stages.Add(SetStage(Doc::Of(version, NextVersion(version))));
}

}  // namespace doclock::mongodb
