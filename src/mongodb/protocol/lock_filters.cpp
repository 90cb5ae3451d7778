#include "mongodb/protocol/lock_filters.h"

#include "mongodb/bson/uuids.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/share_filters.h"
#include "mongodb/protocol/stored_lock.h"

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

Doc LeaseExpr(const Collection& collection, const char* comparison) {
  return Conditional(GoodLeaseExpr(collection),
                     Call(comparison, AgeOf(collection.fields().time), Ttl(collection)), false);
}

Doc IsDateOrNothing(const std::string& field) { return TypeIn(field, {"missing", "null", "date"}); }

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

void AddGoodFields(Doc& filter, const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  Array bad;
  AddBadVersions(bad, names.version);
  AddBadIds(bad, names.born);
  AddBadIds(bad, names.released);
  filter.Add("$nor", bad);
}

Doc GoodLeaseExpr(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  return And(IsLockId(names.id), IsLeaseTime(names.time),
             Or(IsNothing(names.ttl), NumberUpTo(names.ttl, kLongestTtlMs)),
             Or(TypeIn(names.version, {"missing"}), NumberUpTo(names.version, kHighestVersion)),
             IsUuidOrNothing(names.born), IsUuidOrNothing(names.released),
             IsDateOrNothing(names.closed));
}

Doc FreeExpr(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  return And(IsNothing(names.id), TypeIn(names.owner, {"missing", "null", "object"}));
}

Doc ExpiredExpr(const Collection& collection) { return LeaseExpr(collection, "$gte"); }

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

Doc SoundLockFilter(const AcquireOp& op) {
  const Collection& collection = *op.collection;
  const LockFieldNames& names = collection.fields();
  Doc filter = Doc::Of("_id", Equals(*op.key));
  AddGoodFields(filter, collection);
  filter.Add("$expr", And(Or(FreeExpr(collection), GoodLeaseExpr(collection)),
                          IsDateOrNothing(names.closed), SoundSharesExpr(collection)));
  return filter;
}

Doc IsOver(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  const std::int64_t other = collection.default_ttl().count();
  return Or(IsNothing(names.id),
            Call("$gte", AgeOf(names.time), Call("$ifNull", FieldPath(names.ttl), other)));
}

Doc IsFree(const Collection& collection) { return And(IsOver(collection), OpenExpr(collection)); }

}  // namespace doclock::mongodb
