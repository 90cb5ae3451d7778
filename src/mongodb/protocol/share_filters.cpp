#include "mongodb/protocol/share_filters.h"

#include <string>
#include <string_view>

#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/set_where.h"
#include "mongodb/protocol/stored_lock.h"
#include "mongodb/protocol/update.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

template <class Input>
Doc Mapped(const Input& input, const Doc& in) {
  Doc args;
  args.Add("input", input).Add("in", in);
  return Doc::Of("$map", args);
}

Doc GoodReaders(const Collection& collection) {
  const std::string& readers = collection.fields().readers;
  const Doc id = IsUuid("$this.id"), time = IsLeaseTime("$this.time");
  const Doc ttl = NumberUpTo("$this.ttl", kLongestTtlMs);
  Array all;
  all.Add(Mapped(FieldPath(readers), And({&id, &time, &ttl})));
  return Conditional(TypeIn(readers, {"array"}), Doc::OfArray("$allElementsTrue", all.doc()),
                     false);
}

/// There are shares, and their field holds nothing else.
Doc HasShares(const Collection& collection) {
  const Doc shared = IsSharedExpr(collection), good = GoodReaders(collection);
  const Doc lease = GoodLeaseExpr(collection);
  return And({&shared, &good, &lease});
}

/// Of a good reader.
Doc IsLive() { return BinaryOperator("$lt", AgeOf("$this.time"), std::string_view("$$this.ttl")); }

Doc IsOneOf(const Array& ids) {
  Doc args;
  args.Add("0", "$$this.id").AddArray("1", ids.doc());
  return Doc::OfArray("$in", args);
}

/// Of a good reader.
Doc LiveOneOf(const Array& ids) {
  const Doc live = IsLive(), mine = IsOneOf(ids);
  return And({&mine, &live});
}

/// The remaining time of a good reader.
Doc Left() {
  return BinaryOperator("$subtract", std::string_view("$$this.ttl"),
                        BinaryOperator("$max", std::int64_t{0}, AgeOf("$this.time")));
}

/// The live shares; an empty array for a document without shares. For a document whose shares are
/// valid: checking a thousand of them costs as much as filtering them.
Doc LiveReaders(const Collection& collection) {
  Doc branches;
  branches.Add("0", IsSharedExpr(collection));
  branches.Add("1", Filtered(FieldPath(collection.fields().readers), IsLive()));
  branches.AddArray("2", Doc());
  return Doc::OfArray("$cond", branches);
}

/// The remaining time of the stored reader that ends last, and at least `least`.
Doc Cover(const Collection& collection, milliseconds least) {
  const Doc latest = Doc::Of("$max", Mapped(FieldPath(collection.fields().readers), Left()));
  return BinaryOperator("$max", std::int64_t{least.count()}, latest);
}

Doc CountOf(const Doc& readers) { return Doc::Of("$size", readers); }

/// Of a shared lock: no live share has this id. The second check is for shares that are over.
Doc IsFresh(const Collection& collection, const Uuid& id) {
  const std::string& readers = collection.fields().readers;
  Array mine;
  mine.Add(id);
  const Doc known = BinaryOperator("$in", id, std::string_view(FieldPath(readers + ".id")));
  const Doc live = Filtered(FieldPath(readers), LiveOneOf(mine));
  return Conditional(known, BinaryOperator("$eq", CountOf(live), 0), true);
}

Doc KeepLive(const Collection& collection, const Doc& readers) {
  return SetStage(Doc::Of(collection.fields().readers, readers));
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
  return BinaryOperator("$eq", std::string_view(FieldPath(collection.fields().id)), kSharedLockId);
}

Doc RoomExpr(const Collection& collection, const GrantRequest& grant, const Doc& before) {
  const Doc all = BinaryOperator("$add", CountOf(LiveReaders(collection)), before);
  const Doc few = BinaryOperator("$lt", all, grant.max_holders);
  const Doc fresh = IsFresh(collection, grant.lock_id);
  return And({&few, &fresh});
}

Doc SoundSharesExpr(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  return Conditional(IsSharedExpr(collection), GoodReaders(collection),
                     Or(IsNothing(names.readers), GoodReaders(collection)));
}

Doc ShareableExpr(const Collection& collection, const GrantRequest& grant) {
  const LockFieldNames& names = collection.fields();
  const Doc open = OpenExpr(collection);
  const Doc few = BinaryOperator("$lt", CountOf(LiveReaders(collection)), grant.max_holders);
  const Doc fresh = IsFresh(collection, grant.lock_id);
  const Doc room = Conditional(GoodLeaseExpr(collection), And({&few, &fresh}), false);
  const Doc free = Or(IsNothing(names.id), ExpiredExpr(collection, Shareable::kNo));
  const Doc lock = Conditional(IsSharedExpr(collection), room, free);
  return Conditional(SoundSharesExpr(collection), And({&open, &lock}), false);
}

Doc AnyLiveExpr(const Collection& collection, const Array& ids) {
  const Doc found = Filtered(FieldPath(collection.fields().readers), LiveOneOf(ids));
  return Conditional(HasShares(collection), BinaryOperator("$gt", CountOf(found), 0), false);
}

void AddShareGrant(Array& stages, const AcquireOp& op, const std::string& flag) {
  const Collection& collection = *op.collection;
  const LockFieldNames& names = collection.fields();
  const GrantRequest& grant = op.grant;
  const SetWhere where(flag);
  Doc live, both, set;
  where.Set(live, names.readers, LiveReaders(collection));
  stages.Add(SetStage(live));
  both.Add("0", FieldPath(names.readers))
      .AddArray("1", Array().Add(ReaderOf(grant, names.version)).doc());
  where.Set(set, names.id, kSharedLockId);
  where.Set(set, names.time, std::string_view("$$NOW"));
  where.Set(set, names.ttl, Cover(collection, grant.ttl));
  where.Set(set, names.version, NextVersion(names.version));
  where.Set(set, names.readers, Doc::OfArray("$concatArrays", both));
  where.Set(set, names.owner,
            grant.owner ? Doc::Of("$literal", OwnerDoc(*grant.owner)) : Doc::OfNull("$literal"));
  const std::string_view none = "$$REMOVE";
  where.Set(set, names.group, none);  // each share has its own
  // A min_hold is over.
  const Doc closed =
      BinaryOperator("$add", std::string_view("$$NOW"), std::int64_t{grant.min_hold.count()});
  grant.min_hold.count() > 0 ? where.Set(set, names.closed, closed)
                             : where.Set(set, names.closed, none);
  stages.Add(SetStage(set));
}

void AddShareRenewal(Array& stages, const Collection& collection, const Array& ids,
                     milliseconds ttl) {
  const LockFieldNames& names = collection.fields();
  Doc lease;
  lease.Add("time", "$$NOW");
  lease.Add("ttl", BinaryOperator("$max", std::int64_t{ttl.count()}, Left()));
  const Doc renewed = BinaryOperator("$mergeObjects", std::string_view("$$this"), lease);
  Doc set;
  set.Add(names.readers, Mapped(FieldPath(names.readers),
                                Conditional(LiveOneOf(ids), renewed, std::string_view("$$this"))));
  stages.Add(SetStage(set));
  Doc cover;
  cover.Add(names.time, "$$NOW").Add(names.ttl, Cover(collection, milliseconds(0)));
  stages.Add(SetStage(cover));
}

void AddShareRelease(Array& stages, const Collection& collection, const Uuid& id,
                     const Uuid& mark) {
  const LockFieldNames& names = collection.fields();
  const Doc other = BinaryOperator("$ne", std::string_view("$$this.id"), id), live = IsLive();
  stages.Add(KeepLive(collection, Filtered(FieldPath(names.readers), And({&other, &live}))));
  const Doc last =
      BinaryOperator("$eq", Doc::Of("$size", std::string_view(FieldPath(names.readers))), 0);
  const auto unless_last = [&](const std::string& field, const auto& otherwise) {
    return Conditional(last, FieldPath(field), otherwise);
  };
  Doc set;
  Doc parts;
  parts.Add("0", last).AddNull("1").Add("2", kSharedLockId);
  set.Add(names.id, Doc::OfArray("$cond", parts));
  set.Add(names.time, unless_last(names.time, std::string_view("$$NOW")));
  set.Add(names.ttl, unless_last(names.ttl, Cover(collection, milliseconds(0))));
  // For every share, not only for the last: it wakes those who wait for any share to end.
  set.Add(names.released, mark);
  set.Add(names.readers, Conditional(last, std::string_view("$$REMOVE"), FieldPath(names.readers)));
  stages.Add(SetStage(set));
}

void AddVersionRaise(Array& stages, const Collection& collection) {
  const std::string& version = collection.fields().version;
  stages.Add(SetStage(Doc::Of(version, NextVersion(version))));
}

}  // namespace doclock::mongodb
