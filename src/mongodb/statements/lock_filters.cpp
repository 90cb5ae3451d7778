#include "mongodb/statements/lock_filters.h"

#include <string>
#include <utility>

#include "mongodb/bson/bson.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/stored_lock.h"

namespace doclock::mongodb {
namespace {

/// The lease's length: the collection's if the document has none.
Doc Ttl(const Collection& collection) {
  const std::string& ttl = collection.fields().ttl;
  return Conditional(TypeIn(ttl, {"int", "long"}), FieldPath(ttl),
                     std::int64_t{collection.default_ttl().count()});
}

void AddBadVersions(Array& bad, const std::string& version) {
  // Doubles stop counting at 2^53.
  bad.Add(Doc::Of(version, TypeOtherThan({BSON_TYPE_INT32, BSON_TYPE_INT64})));
  bad.Add(Doc::Of(version, Doc::Of("$lt", 0)));
  bad.Add(Doc::Of(version, Doc::Of("$gt", kHighestVersion)));
}

/// Matches values that are neither a UUID of subtype 3 or 4 nor null.
void AddBadIds(Array& bad, const std::string& field) {
  Doc below;
  AddLegacyUuid(below, "$lt", LowestUuid());
  bad.Add(Doc::Of(field, TypeOtherThan({BSON_TYPE_BINARY, BSON_TYPE_NULL})));
  bad.Add(Doc::Of(field, below)).Add(Doc::Of(field, Doc::Of("$gt", HighestUuid())));
}

void AddBadTtl(Array& bad, const std::string& ttl) {
  bad.Add(Doc::Of(ttl, TypeOtherThan({BSON_TYPE_INT32, BSON_TYPE_INT64, BSON_TYPE_NULL})));
  bad.Add(Doc::Of(ttl, Doc::Of("$lt", 0))).Add(Doc::Of(ttl, Doc::Of("$gt", kLongestTtlMs)));
}

Doc LeaseTime() {
  Doc time;
  bson_append_date_time(time.get(), "$gte", -1, kEarliestMs);
  return NoArray(std::move(time));
}

/// Matches shares that are not what this library writes, and a shared lock without any.
void AddBadShares(Array& bad, const LockFieldNames& names) {
  Doc id, ttl;
  AddLegacyUuid(id, "$gte", LowestUuid()).Add("$lte", HighestUuid());
  ttl.Add("$gte", 0).Add("$lte", kLongestTtlMs);
  ttl.Add("$not", TypeOtherThan({BSON_TYPE_INT32, BSON_TYPE_INT64}));
  Doc share = Doc::Of("id", NoArray(std::move(id)));
  share.Add("time", LeaseTime()).Add("ttl", ttl);
  const auto with = [&](const Doc& item) {
    return Doc::Of(names.readers, Doc::Of("$elemMatch", item));
  };
  bad.Add(with(Doc::Of("$nor", Array().Add(share))));
  bad.Add(with(Doc::Of("$not", Doc::Of("$type", "object"))));
  Doc others = Doc::Of("$exists", true);
  others.Add("$not", Doc::Of("$type", Array().Add("array").Add("null")));
  bad.Add(Doc::Of(names.readers, others));
  Doc without = Doc::Of(names.id, Equals(kSharedLockId));
  bad.Add(without.Add(names.readers, Doc::Of("$not", Doc::Of("$type", "array"))));
}

Doc LeaseExpr(const Collection& collection, const char* comparison) {
  const std::string& time = collection.fields().time;
  return Conditional(IsLeaseTime(time), Call(comparison, AgeOf(time), Ttl(collection)), false);
}

}  // namespace

void AddFree(Doc& filter, const Collection& collection) {
  // MongoDB says that [null] equals null, and older servers that undefined does.
  Doc nothing = Doc::OfNull("$eq");
  nothing.Add("$not", Doc::Of("$type", Array().Add("array").Add("undefined")));
  filter.Add(collection.fields().id, nothing);
  filter.Add(collection.fields().owner,
             Doc::Of("$not", TypeOtherThan({BSON_TYPE_DOCUMENT, BSON_TYPE_NULL})));
}

void AddNeverClosed(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().closed, Doc::Of("$exists", false));
}

void AddNotShared(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().readers, Doc::Of("$exists", false));
}

void AddGoodVersion(Doc& filter, const Collection& collection) {
  Array bad;
  AddBadVersions(bad, collection.fields().version);
  filter.Add("$nor", bad);
}

void AddSound(Doc& filter, const Collection& collection, std::initializer_list<LockPart> parts) {
  const LockFieldNames& names = collection.fields();
  Array bad;
  for (const LockPart part : parts) {
    switch (part) {
      case LockPart::kFields:
        AddBadVersions(bad, names.version);
        AddBadIds(bad, names.born);
        AddBadIds(bad, names.released);
        break;
      case LockPart::kLease:
        filter.Add(names.time, LeaseTime());
        AddBadTtl(bad, names.ttl);
        break;
      case LockPart::kClosed:
        bad.Add(Doc::Of(names.closed, TypeOtherThan({BSON_TYPE_DATE_TIME, BSON_TYPE_NULL})));
        break;
      case LockPart::kShares:
        AddBadShares(bad, names);
        break;
    }
  }
  filter.Add("$nor", bad);
}

Doc ExpiredExpr(const Collection& collection) { return LeaseExpr(collection, "$gte"); }

Doc NotLiveExpr(const Collection& collection) {
  return Or(IsNothing(collection.fields().id), ExpiredExpr(collection));
}

Doc LiveExpr(const Collection& collection) { return LeaseExpr(collection, "$lt"); }

Doc RenewedTtlExpr(const Collection& collection, std::chrono::milliseconds ttl) {
  const Doc age = Call("$max", std::int64_t{0}, AgeOf(collection.fields().time));
  return Call("$max", std::int64_t{ttl.count()}, Call("$subtract", Ttl(collection), age));
}

Doc OpenExpr(const Collection& collection) {
  const std::string& closed = collection.fields().closed;
  return Or(IsNothing(closed),
            Conditional(TypeIn(closed, {"date"}), Call("$lte", FieldPath(closed), "$$NOW"), false));
}

Doc LockIdThere() {
  Doc id;
  AddLegacyUuid(id, "$gt", LowestUuid()).Add("$lte", HighestUuid()).Add("$ne", Uuid{});
  return NoArray(std::move(id));
}

void AddSoundLock(Doc& filter, const Collection& collection) {
  Doc free, held;
  AddFree(free, collection);
  held.Add(collection.fields().id, LockIdThere());
  AddSound(held, collection, {LockPart::kLease});
  AddSound(filter, collection, {LockPart::kFields, LockPart::kClosed, LockPart::kShares});
  filter.Add("$or", Array().Add(free).Add(held));
}

Doc SoundLockFilter(const AcquireOp& op) {
  Doc filter = Doc::Of("_id", Equals(*op.key));
  AddSoundLock(filter, *op.collection);
  return filter;
}

Doc HeldByOtherFilter(const AcquireOp& op) {
  const Collection& collection = *op.collection;
  const LockFieldNames& names = collection.fields();
  Doc id = LockIdThere();
  id.Add("$nin", Array().Add(kSharedLockId).Add(op.request.grant.lock_id));
  Doc filter = Doc::Of("_id", Equals(*op.key));
  filter.Add(names.id, id);
  AddSound(filter, collection, {LockPart::kFields, LockPart::kLease, LockPart::kClosed});
  AddNotShared(filter, collection);
  const std::string last = names.queue + "." + std::to_string(kMaxQueueEntries - 1);
  return std::move(filter.Add(last, Doc::Of("$exists", false)));
}

Doc IsOver(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  const std::int64_t other = collection.default_ttl().count();
  return Or(IsNothing(names.id),
            Call("$gte", AgeOf(names.time), Call("$ifNull", FieldPath(names.ttl), other)));
}

Doc IsFree(const Collection& collection) { return And(IsOver(collection), OpenExpr(collection)); }

}  // namespace doclock::mongodb
