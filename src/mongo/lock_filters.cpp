#include "mongo/lock_filters.h"

#include <string_view>

#include "mongo/expressions.h"
#include "mongo/share_filters.h"
#include "mongo/stored_lock.h"

namespace doclock::mongo {
namespace {

/// The lease's length: the collection's where the document has none.
Doc Ttl(const Collection& collection) {
  Array parts;
  parts.Add(TypeIn(collection.fields().ttl, {"int", "long"}));
  parts.Add(std::string_view(FieldPath(collection.fields().ttl)));
  parts.Add(std::int64_t{collection.default_ttl().count()});
  return Doc::OfArray("$cond", parts.doc());
}

/// All the fields that a lease is counted by are what ReadStoredLock takes.
Doc GoodLease(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  const Doc id = IsUuid(names.id);
  const Doc time = TypeIn(names.time, {"date"});
  const Doc ttl = Or(IsNothing(names.ttl), NumberUpTo(names.ttl, kLongestTtlMs));
  const Doc version =
      Or(TypeIn(names.version, {"missing"}), NumberUpTo(names.version, kHighestVersion));
  return And({&id, &time, &ttl, &version});
}

Doc LeaseExpr(const Collection& collection, const char* comparison) {
  return Conditional(GoodLease(collection),
                     Binary(comparison, AgeOf(collection.fields().time), Ttl(collection)), false);
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

void AddNotShared(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().readers, Doc::Of("$exists", false));
  filter.Add(collection.fields().intent, Doc::Of("$exists", false));
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

Doc ExpiredExpr(const Collection& collection, Shareable shareable) {
  Doc expired = LeaseExpr(collection, "$gte");
  if (shareable == Shareable::kNo) return expired;
  const Doc sound = SoundSharesExpr(collection);
  return And({&expired, &sound});
}

Doc LiveExpr(const Collection& collection) { return LeaseExpr(collection, "$lt"); }

Doc RenewedTtlExpr(const Collection& collection, std::chrono::milliseconds ttl) {
  const Doc left = Binary("$subtract", Ttl(collection),
                          Binary("$max", std::int64_t{0}, AgeOf(collection.fields().time)));
  return Binary("$max", std::int64_t{ttl.count()}, left);
}

Doc OpenExpr(const Collection& collection) {
  const std::string& closed = collection.fields().closed;
  const Doc date = TypeIn(closed, {"date"});
  const Doc over = Conditional(
      date, Binary("$lte", std::string_view(FieldPath(closed)), std::string_view("$$NOW")), false);
  return Or(IsNothing(closed), over);
}

}  // namespace doclock::mongo
