#include "mongo/expressions.h"

#include <algorithm>

namespace doclock::mongo {

Doc And(std::initializer_list<const Doc*> conditions) {
  Array all;
  for (const Doc* condition : conditions) all.Add(*condition);
  return Doc::OfArray("$and", all.doc());
}

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
  const Doc low = Binary("$gte", std::string_view(FieldPath(field)), 0);
  const Doc high = Binary("$lte", std::string_view(FieldPath(field)), highest);
  return And({&whole, &low, &high});
}

/// Binaries compare by length, subtype and bytes.
Doc IsUuid(const std::string& field) {
  constexpr std::uint8_t kNone = 0x00, kAll = 0xff;
  Uuid lowest, highest;
  std::fill(lowest.begin(), lowest.end(), kNone);
  std::fill(highest.begin(), highest.end(), kAll);
  Doc above;
  above.Add("0", std::string_view(FieldPath(field)));
  bson_append_binary(above.get(), "1", 1, BSON_SUBTYPE_UUID_DEPRECATED, lowest.data, 16);
  const Doc low = Doc::OfArray("$gte", above);
  const Doc high = Binary("$lte", std::string_view(FieldPath(field)), highest);
  return And({&low, &high});
}

Doc AgeOf(const std::string& field) {
  return Binary("$subtract", std::string_view("$$NOW"), std::string_view(FieldPath(field)));
}

}  // namespace doclock::mongo
