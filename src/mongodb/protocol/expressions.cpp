#include "mongodb/protocol/expressions.h"

#include "mongodb/bson/uuid_bounds.h"
#include "mongodb/protocol/stored_lock.h"

namespace doclock::mongodb {

Doc And(std::initializer_list<const Doc*> conditions) {
  Array all;
  for (const Doc* condition : conditions) all.Add(*condition);
  return Doc::OfArray("$and", all.doc());
}

Doc Not(const Doc& condition) { return Doc::OfArray("$not", Array().Add(condition).doc()); }

Doc TypeIn(const std::string& field, std::initializer_list<std::string_view> types) {
  Array names;
  for (const std::string_view type : types) names.Add(type);
  Doc args;
  args.Add("0", Doc::Of("$type", FieldPath(field))).AddArray("1", names.doc());
  return Doc::OfArray("$in", args);
}

Doc IsNothing(const std::string& field) { return TypeIn(field, {"missing", "null"}); }

Doc NumberUpTo(const std::string& field, std::int64_t highest) {
  const Doc whole = TypeIn(field, {"int", "long"});
  const Doc low = BinaryOperator("$gte", std::string_view(FieldPath(field)), 0);
  const Doc high = BinaryOperator("$lte", std::string_view(FieldPath(field)), highest);
  return And({&whole, &low, &high});
}

Doc IsUuid(const std::string& field) {
  Doc above;
  above.Add("0", std::string_view(FieldPath(field)));
  AddLegacyUuid(above, "1", LowestUuid());
  const Doc low = Doc::OfArray("$gte", above);
  const Doc high = BinaryOperator("$lte", std::string_view(FieldPath(field)), HighestUuid());
  return And({&low, &high});
}

Doc IsUuidOrNothing(const std::string& field) { return Or(IsNothing(field), IsUuid(field)); }

Doc IsLockId(const std::string& field) {
  Doc above;
  above.Add("0", std::string_view(FieldPath(field)));
  AddLegacyUuid(above, "1", Uuid{});
  const Doc uuid = IsUuid(field), low = Doc::OfArray("$gt", above);
  const Doc other = BinaryOperator("$ne", std::string_view(FieldPath(field)), Uuid{});
  return And({&uuid, &low, &other});
}

Doc IsLeaseTime(const std::string& field) {
  Doc bound;
  bound.Add("0", std::string_view(FieldPath(field)));
  bson_append_date_time(bound.get(), "1", 1, kEarliestMs);
  const Doc date = TypeIn(field, {"date"}), late = Doc::OfArray("$gte", bound);
  return And({&date, &late});
}

Doc PlaceAmong(const Array& ids) {
  Doc args;
  args.Add("0", Doc::OfArray("$literal", ids.doc())).Add("1", "$_id");
  return Doc::OfArray("$indexOfArray", args);
}

Doc NextVersion(const std::string& version) {
  Array known;
  known.Add(std::string_view(FieldPath(version))).Add(std::int64_t{0});
  return BinaryOperator("$add", Doc::OfArray("$ifNull", known.doc()), std::int64_t{1});
}

Doc AgeOf(const std::string& field) {
  return BinaryOperator("$subtract", std::string_view("$$NOW"), std::string_view(FieldPath(field)));
}

}  // namespace doclock::mongodb
