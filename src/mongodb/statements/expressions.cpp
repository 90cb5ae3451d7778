#include "mongodb/statements/expressions.h"

#include <cstring>

#include "doclock/document.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/statements/stored_lock.h"

namespace doclock::mongodb {
Doc Let(const Doc& vars, const Doc& in) {
  Doc args;
  args.Add("vars", vars).Add("in", in);
  return Doc::Of("$let", args);
}

Doc TypeIn(const std::string& field, std::initializer_list<std::string_view> types) {
  Array names;
  for (const std::string_view type : types) names.Add(type);
  return Call("$in", Doc::Of("$type", FieldPath(field)), names);
}

Doc IsNothing(const std::string& field) { return TypeIn(field, {"missing", "null"}); }

Doc NumberUpTo(const std::string& field, std::int64_t highest) {
  return And(TypeIn(field, {"int", "long"}), Call("$gte", FieldPath(field), 0),
             Call("$lte", FieldPath(field), highest));
}

Doc IsLeaseTime(const std::string& field) {
  Doc late = Doc::Of("0", FieldPath(field));
  bson_append_date_time(late.get(), "1", 1, kEarliestMs);
  return And(TypeIn(field, {"date"}), Doc::OfArray("$gte", late));
}

std::int64_t FirstPlace() {
  const Uuid random = NewUuid();
  std::uint32_t half = 0;
  std::memcpy(&half, &random, sizeof half);
  return 1 + (std::int64_t{half} << 16);  // there are fewer than 2^16 places
}

Doc PlaceAmong(const Array& ids, std::int64_t first, const char* key_field) {
  const Doc place = Call("$indexOfArray", Doc::Of("$literal", ids), FieldPath(key_field));
  return Call("$add", place, first);
}

Doc LockFieldsExpr(const LockFieldNames& names) {
  Doc paths;
  for (const std::string* const field : LockFields(names)) paths.Add(*field, FieldPath(*field));
  return Call("$mergeObjects", paths);
}

Doc NextVersion(const std::string& version) {
  return Call("$add", Call("$ifNull", FieldPath(version), std::int64_t{0}), std::int64_t{1});
}

Doc AgeOf(const std::string& field) { return Call("$subtract", "$$NOW", FieldPath(field)); }

}  // namespace doclock::mongodb
