#include "mongo/lock_filters.h"

#include <initializer_list>
#include <string_view>

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

/// All the fields that a lease is counted by are of their types.
Doc GoodLease(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  const Doc id = TypeIn(names.id, {"binData"});
  const Doc time = TypeIn(names.time, {"date"});
  const Doc ttl = TypeIn(names.ttl, {"int", "long", "missing", "null"});
  const Doc version = TypeIn(names.version, {"int", "long", "missing"});
  return And({&id, &time, &ttl, &version});
}

Doc LeaseExpr(const Collection& collection, const char* comparison) {
  const Doc age = Binary("$subtract", std::string_view("$$NOW"),
                         std::string_view(FieldPath(collection.fields().time)));
  return Conditional(GoodLease(collection), Binary(comparison, age, Ttl(collection)), false);
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
  Doc types;
  // Every type but int and long: doubles stop counting at 2^53.
  types.AddStrings("$type",
                   {"double", "string", "object", "array", "binData", "objectId", "bool", "date",
                    "null", "regex", "javascript", "timestamp", "decimal", "minKey", "maxKey"});
  filter.Add(collection.fields().version, Doc::Of("$not", types));
}

Doc ExpiredExpr(const Collection& collection) { return LeaseExpr(collection, "$gte"); }

Doc LiveExpr(const Collection& collection) { return LeaseExpr(collection, "$lt"); }

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
