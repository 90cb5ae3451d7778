#include "mongodb/protocol/lock_filters.h"

#include <string_view>

#include "mongodb/bson/uuid_bounds.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/share_filters.h"
#include "mongodb/protocol/stored_lock.h"

namespace doclock::mongodb {
namespace {

/// The lease's length: the collection's if the document has none.
Doc Ttl(const Collection& collection) {
  Array parts;
  parts.Add(TypeIn(collection.fields().ttl, {"int", "long"}));
  parts.Add(std::string_view(FieldPath(collection.fields().ttl)));
  parts.Add(std::int64_t{collection.default_ttl().count()});
  return Doc::OfArray("$cond", parts.doc());
}

/// Null or missing. MongoDB says that [null] equals null, and older servers that undefined does.
Doc Nothing() {
  Doc nothing = Doc::OfNull("$eq");
  Array types;
  types.Add(std::string_view("array")).Add(std::string_view("undefined"));
  nothing.Add("$not", Doc::OfArray("$type", types.doc()));
  return nothing;
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
                     BinaryOperator(comparison, AgeOf(collection.fields().time), Ttl(collection)),
                     false);
}

}  // namespace

void AddFree(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().id, Nothing());
}

void AddNeverClosed(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().closed, Doc::Of("$exists", false));
}

void AddNotClosed(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().closed, Nothing());
}

void AddNotShared(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().readers, Doc::Of("$exists", false));
}

void AddGoodVersion(Doc& filter, const Collection& collection) {
  Array bad;
  AddBadVersions(bad, collection.fields().version);
  filter.AddArray("$nor", bad.doc());
}

void AddGoodFields(Doc& filter, const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  Array bad;
  AddBadVersions(bad, names.version);
  AddBadIds(bad, names.born);
  AddBadIds(bad, names.released);
  filter.AddArray("$nor", bad.doc());
}

Doc GoodLeaseExpr(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  const Doc id = IsLockId(names.id), time = IsLeaseTime(names.time);
  const Doc ttl = Or(IsNothing(names.ttl), NumberUpTo(names.ttl, kLongestTtlMs));
  const Doc version =
      Or(TypeIn(names.version, {"missing"}), NumberUpTo(names.version, kHighestVersion));
  const Doc born = IsUuidOrNothing(names.born), released = IsUuidOrNothing(names.released);
  const Doc closed = TypeIn(names.closed, {"missing", "null", "date"});
  return And({&id, &time, &ttl, &version, &born, &released, &closed});
}

Doc ExpiredExpr(const Collection& collection, Shareable shareable) {
  Doc expired = LeaseExpr(collection, "$gte");
  if (shareable == Shareable::kNo) return expired;
  const Doc sound = SoundSharesExpr(collection);
  return And({&expired, &sound});
}

Doc LiveExpr(const Collection& collection) { return LeaseExpr(collection, "$lt"); }

Doc RenewedTtlExpr(const Collection& collection, std::chrono::milliseconds ttl) {
  const Doc left =
      BinaryOperator("$subtract", Ttl(collection),
                     BinaryOperator("$max", std::int64_t{0}, AgeOf(collection.fields().time)));
  return BinaryOperator("$max", std::int64_t{ttl.count()}, left);
}

Doc OpenExpr(const Collection& collection) {
  const std::string& closed = collection.fields().closed;
  const Doc date = TypeIn(closed, {"date"});
  const Doc over = Conditional(
      date, BinaryOperator("$lte", std::string_view(FieldPath(closed)), std::string_view("$$NOW")),
      false);
  return Or(IsNothing(closed), over);
}

}  // namespace doclock::mongodb
