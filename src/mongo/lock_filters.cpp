#include "mongo/lock_filters.h"

#include <initializer_list>
#include <string_view>

#include "mongo/stored_lock.h"
#include "mongo/uuid_bounds.h"

namespace doclock::mongo {
namespace {

template <class A, class B>
Doc Binary(const char* op, const A& a, const B& b) {
  Array both;
  both.Add(a).Add(b);
  return Doc::OfArray(op, both.doc());
}

Doc Conditional(const Doc& condition, const Doc& then, bool otherwise) {
  Array parts;
  parts.Add(condition).Add(then).Add(otherwise);
  return Doc::OfArray("$cond", parts.doc());
}

Doc TypeOf(const std::string& field) { return Doc::Of("$type", FieldPath(field)); }

Doc TypeIn(const std::string& field, std::initializer_list<std::string_view> types) {
  Array names;
  for (const std::string_view type : types) names.Add(type);
  Doc args;
  args.Add("0", TypeOf(field)).AddArray("1", names.doc());
  return Doc::OfArray("$in", args);
}

Doc And(std::initializer_list<const Doc*> conditions) {
  Array all;
  for (const Doc* condition : conditions) all.Add(*condition);
  return Doc::OfArray("$and", all.doc());
}

/// The lease's length: the collection's where the document has none.
Doc Ttl(const Collection& collection) {
  Array parts;
  parts.Add(TypeIn(collection.fields().ttl, {"int", "long"}));
  parts.Add(std::string_view(FieldPath(collection.fields().ttl)));
  parts.Add(std::int64_t{collection.default_ttl().count()});
  return Doc::OfArray("$cond", parts.doc());
}

Doc Or(const Doc& a, const Doc& b) { return Binary("$or", a, b); }

/// A whole number from 0 to `highest`.
Doc NumberUpTo(const std::string& field, std::int64_t highest) {
  const Doc whole = TypeIn(field, {"int", "long"});
  const Doc low = Binary("$gte", std::string_view(FieldPath(field)), 0);
  const Doc high = Binary("$lte", std::string_view(FieldPath(field)), highest);
  return And({&whole, &low, &high});
}

/// Of subtype 3 or 4.
Doc IsUuid(const std::string& field) {
  Doc above;
  above.Add("0", std::string_view(FieldPath(field)));
  AddLegacyUuid(above, "1", LowestUuid());
  const Doc low = Doc::OfArray("$gte", above);
  const Doc high = Binary("$lte", std::string_view(FieldPath(field)), HighestUuid());
  return And({&low, &high});
}

/// All the fields that a lease is counted by are what ReadStoredLock takes.
Doc GoodLease(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  const Doc id = IsUuid(names.id);
  const Doc time = TypeIn(names.time, {"date"});
  const Doc ttl = Or(TypeIn(names.ttl, {"missing", "null"}), NumberUpTo(names.ttl, kLongestTtlMs));
  const Doc version =
      Or(TypeIn(names.version, {"missing"}), NumberUpTo(names.version, kHighestVersion));
  return And({&id, &time, &ttl, &version});
}

Doc Age(const Collection& collection) {
  return Binary("$subtract", std::string_view("$$NOW"),
                std::string_view(FieldPath(collection.fields().time)));
}

Doc LeaseExpr(const Collection& collection, const char* comparison) {
  return Conditional(GoodLease(collection), Binary(comparison, Age(collection), Ttl(collection)),
                     false);
}

}  // namespace

void AddFree(Doc& filter, const Collection& collection) {
  // [null] equals null as well.
  Doc free = Doc::OfNull("$eq");
  free.Add("$not", Doc::Of("$type", "array"));
  filter.Add(collection.fields().id, free);
}

void AddNotClosed(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().closed, Doc::OfNull("$eq"));
}

void AddGoodVersion(Doc& filter, const Collection& collection) {
  const std::string& version = collection.fields().version;
  Doc types;
  // Every type but int and long: doubles stop counting at 2^53.
  types.AddStrings("$type",
                   {"double", "string", "object", "array", "binData", "objectId", "bool", "date",
                    "null", "regex", "javascript", "timestamp", "decimal", "minKey", "maxKey"});
  Array bad;
  bad.Add(Doc::Of(version, types)).Add(Doc::Of(version, Doc::Of("$lt", 0)));
  bad.Add(Doc::Of(version, Doc::Of("$gt", kHighestVersion)));
  filter.AddArray("$nor", bad.doc());
}

Doc ExpiredExpr(const Collection& collection) { return LeaseExpr(collection, "$gte"); }

Doc LiveExpr(const Collection& collection) { return LeaseExpr(collection, "$lt"); }

Doc BeganWithinExpr(const Collection& collection, std::chrono::milliseconds age) {
  return Conditional(GoodLease(collection),
                     Binary("$lte", Age(collection), std::int64_t{age.count()}), false);
}

Doc RenewedTtlExpr(const Collection& collection, std::chrono::milliseconds ttl) {
  const Doc age = Binary("$max", std::int64_t{0}, Age(collection));
  const Doc left = Binary("$subtract", Ttl(collection), age);
  return Binary("$max", std::int64_t{ttl.count()}, left);
}

Doc OpenExpr(const Collection& collection) {
  const std::string& closed = collection.fields().closed;
  const Doc none = TypeIn(closed, {"missing", "null"});
  const Doc date = TypeIn(closed, {"date"});
  const Doc over = Conditional(
      date, Binary("$lte", std::string_view(FieldPath(closed)), std::string_view("$$NOW")), false);
  Array either;
  either.Add(none).Add(over);
  return Doc::OfArray("$or", either.doc());
}

}  // namespace doclock::mongo
