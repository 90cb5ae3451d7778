#include "mongodb/query/query.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "document/json/typed_value.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/statements/expressions.h"

namespace doclock::mongodb {
namespace {

using Op = Filter::Op;

std::string Joined(const std::vector<std::string>& path, std::size_t count) {
  std::string joined;
  for (std::size_t i = 0; i < count; ++i) {
    if (path[i].empty() || path[i].front() == '$') {
      throw std::invalid_argument(
          "doclock: MongoDB cannot search by a field whose name is empty or begins with '$'");
    }
    joined += (i == 0 ? "" : ".") + path[i];
  }
  return joined;
}

std::string Joined(const std::vector<std::string>& path) { return Joined(path, path.size()); }

Doc IsArray(const std::string& field) { return Doc::Of(field, Doc::Of("$type", "array")); }
Doc IsNoArray(const std::string& field) {
  return Doc::Of(field, Doc::Of("$not", Doc::Of("$type", "array")));
}

/// On the way to the value, and with `whole` the value itself.
void NoArrays(Array& all, const std::vector<std::string>& path, bool whole) {
  for (std::size_t i = 1; i < path.size() + (whole ? 1 : 0); ++i) {
    all.Add(IsNoArray(Joined(path, i)));
  }
}
void AddArrays(Array& any, const std::vector<std::string>& path, bool whole) {
  for (std::size_t i = 1; i < path.size() + (whole ? 1 : 0); ++i) {
    any.Add(IsArray(Joined(path, i)));
  }
}

Doc Compared(const std::vector<std::string>& path, const char* op, const nlohmann::json& value) {
  Doc comparison;
  AppendValue(comparison, op, value);
  return Doc::Of(Joined(path), comparison);
}

const char* NameOf(Op op) {
  static constexpr std::array kNames{"$eq", "$ne", "$lt", "$lte", "$gt", "$gte"};
  return kNames.at(static_cast<std::size_t>(op));
}

Doc Never() { return Doc::Of("_id", Doc::Of("$exists", false)); }

/// Missing counts as null, and so does what lies behind an array. Undefined, which older servers
/// say equals null, is a value of the rest.
Doc NullMatch(const std::vector<std::string>& path) {
  const Doc defined = Doc::Of(Joined(path), Doc::Of("$not", Doc::Of("$type", "undefined")));
  Array any;
  any.Add(And(Compared(path, "$eq", nullptr), IsNoArray(Joined(path)), defined));
  AddArrays(any, path, false);
  return Doc::Of("$or", any);
}

Doc NotNullMatch(const std::vector<std::string>& path) {
  const Doc undefined = Doc::Of(Joined(path), Doc::Of("$type", "undefined"));
  Array all;
  all.Add(Call("$or", Compared(path, "$ne", nullptr), IsArray(Joined(path)), undefined));
  NoArrays(all, path, false);
  return Doc::Of("$and", all);
}

/// A symbol is no text, although the server compares them.
bool IsText(const Filter::Condition& condition) {
  return condition.value.is_string() && !detail::IsKeyPath(condition.path);
}
Doc IsSymbol(const std::vector<std::string>& path) {
  return Doc::Of(Joined(path), Doc::Of("$type", "symbol"));
}

/// By the primary's clock. The type keeps out what the expression would compare as well, and
/// bounds an index.
Doc DueMatch(const std::vector<std::string>& path) {
  const std::string field = Joined(path);
  Array all;
  all.Add(Doc::Of(field, Doc::Of("$type", "date")));
  all.Add(Doc::Of("$expr", Call("$lte", FieldPath(field), "$$NOW")));
  NoArrays(all, path, true);
  return Doc::Of("$and", all);
}

Doc ConditionMatch(const Filter::Condition& condition) {
  if (condition.op == Op::kDue) return DueMatch(condition.path);
  if (condition.value.is_null()) {
    if (condition.op == Op::kEqual) return NullMatch(condition.path);
    return condition.op == Op::kNotEqual ? NotNullMatch(condition.path) : Never();
  }
  const Doc compared = Compared(condition.path, NameOf(condition.op), condition.value);
  if (condition.op == Op::kNotEqual) {
    Array any;
    any.Add(compared);
    AddArrays(any, condition.path, true);
    if (IsText(condition)) any.Add(IsSymbol(condition.path));
    return Doc::Of("$or", any);
  }
  Array all;
  all.Add(compared);
  NoArrays(all, condition.path, true);
  if (IsText(condition)) all.Add(Call("$nor", IsSymbol(condition.path)));
  return Doc::Of("$and", all);
}

/// Groups of types within which MongoDB's order is that of OrderBy, in the order of OrderBy. A
/// condition compares within a type: the query itself sees to that.
enum Rank : std::size_t { kNull, kNumberOrText, kBoolOrDate, kBinaryOrObjectId, kRest, kRanks };

constexpr std::array<std::array<std::string_view, 2>, kRanks> kTypes{
    {{"null", "null"}, {"number", "string"}, {"bool", "date"}, {"binData", "objectId"}, {}}};

Rank RankOf(const nlohmann::json& value) {
  if (value.is_null()) return kNull;
  if (value.is_boolean()) return kBoolOrDate;
  switch (detail::KindOf(value)) {
    case detail::TypedKind::kDate:
      return kBoolOrDate;
    case detail::TypedKind::kBinary:
    case detail::TypedKind::kObjectId:
      return kBinaryOrObjectId;
    default:
      return kNumberOrText;
  }
}

Doc RankMatch(const std::vector<std::string>& path, Rank rank) {
  if (rank == kNull) return NullMatch(path);
  const std::string field = Joined(path);
  Array all;
  if (rank == kRest) {
    Array any;
    Doc ranked;
    ranked.AddStrings("$type", {"null", "number", "string", "bool", "date", "binData", "objectId"});
    Doc other = Doc::Of("$exists", true);
    other.Add("$not", ranked);
    any.Add(Doc::Of(field, other)).Add(IsArray(field));
    all.Add(Doc::Of("$or", any));
    NoArrays(all, path, false);
  } else {
    Doc types;
    types.AddStrings("$type", {kTypes[rank][0], kTypes[rank][1]});
    all.Add(Doc::Of(field, types));
    NoArrays(all, path, true);
  }
  return Doc::Of("$and", all);
}

/// A condition on the field itself leaves one kind of value.
bool MayHave(const Filter& filter, Rank rank) {
  for (const Filter::Condition& condition : filter.conditions()) {
    if (condition.path != filter.order() || condition.op == Op::kNotEqual) continue;
    if (RankOf(condition.value) != rank) return false;
  }
  return true;
}

bool IsTied(Rank rank) { return rank == kNull || rank == kRest; }

Doc SortOf(const Filter& filter, Rank rank) {
  Doc sort;
  if (!IsTied(rank)) sort.Add(Joined(filter.order()), filter.descending() ? -1 : 1);
  sort.Add("_id", 1);
  return sort;
}

/// Which kinds of `_id` are keys, in MongoDB's order.
constexpr std::array<std::array<std::string_view, 2>, 4> kKeyTypes{
    {{"number", "number"}, {"string", "symbol"}, {"binData", "binData"}, {"objectId", "objectId"}}};

std::size_t PlaceOf(const Key& key) {
  static constexpr std::array<std::size_t, 4> kPlaces{1, 0, 2, 3};  // by Key::Value
  return kPlaces.at(key.value().index());
}

/// The documents behind a key: a comparison finds its own kind only, so the others follow, each in
/// a range of the index.
std::vector<Doc> BehindKey(const Key& key, bool descending) {
  std::vector<Doc> matches;
  matches.push_back(Doc::Of("_id", Doc::Of(descending ? "$lt" : "$gt", key)));
  const std::size_t place = PlaceOf(key);
  for (std::size_t i = 1; i < kKeyTypes.size(); ++i) {
    const std::size_t other = descending ? place - i : place + i;
    if (other >= kKeyTypes.size()) break;
    Doc types;
    types.AddStrings("$type", {kKeyTypes.at(other)[0], kKeyTypes.at(other)[1]});
    matches.push_back(Doc::Of("_id", types));
  }
  return matches;
}

void AddBehindKey(const Doc& match, const Filter& filter, bool descending,
                  std::vector<Pass>& passes) {
  for (const Doc& behind : BehindKey(filter.after()->key, descending)) {
    passes.push_back({And(match, behind), Doc::Of("_id", descending ? -1 : 1)});
  }
}

/// The rank of a value that a document had.
Rank StoredRankOf(const bson_iter_t& value) {
  switch (bson_iter_type(&value)) {
    case BSON_TYPE_NULL:
      return kNull;
    case BSON_TYPE_DOUBLE:
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
    case BSON_TYPE_DECIMAL128:
    case BSON_TYPE_UTF8:
      return kNumberOrText;
    case BSON_TYPE_BOOL:
    case BSON_TYPE_DATE_TIME:
      return kBoolOrDate;
    case BSON_TYPE_BINARY:
    case BSON_TYPE_OID:
      return kBinaryOrObjectId;
    default:
      return kRest;
  }
}

bool IsNan(const nlohmann::json& value) {
  if (value.is_number_float()) return std::isnan(value.get<double>());
  return detail::KindOf(value) == detail::TypedKind::kDecimal &&
         value.at("$numberDecimal") == "NaN";
}

/// Values that come behind the position's, in order: a comparison finds its own type only, and no
/// number is less or greater than NaN, the least of them.
std::vector<Doc> BehindValue(const Filter& filter, Rank rank, const bson_iter_t& value) {
  const bson_type_t type = bson_iter_type(&value);
  const bool is_second =
      type == BSON_TYPE_UTF8 || type == BSON_TYPE_DATE_TIME || type == BSON_TYPE_OID;
  const bool is_number = rank == kNumberOrText && !is_second;
  const bool at_nan = is_number && IsNan(filter.after()->value);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Doc> conditions;
  if (at_nan && !filter.descending()) {
    conditions.push_back(Doc::Of("$gte", -std::numeric_limits<double>::infinity()));
  } else if (!at_nan) {
    conditions.push_back(Doc::Of(filter.descending() ? "$lt" : "$gt",
                                 *bson_iter_value(const_cast<bson_iter_t*>(&value))));
    if (is_number && filter.descending()) conditions.push_back(Doc::Of("$eq", nan));
  }
  if (is_second == filter.descending()) {
    conditions.push_back(Doc::Of("$type", kTypes.at(rank).at(filter.descending() ? 0 : 1)));
  }
  return conditions;
}

/// What is left of the rank in which the position is.
void AddBehind(const Filter& filter, Rank rank, const bson_iter_t& value,
               std::vector<Pass>& passes) {
  const Doc match = RankMatch(filter.order(), rank);
  if (IsTied(rank)) return AddBehindKey(match, filter, false, passes);
  Doc equal;
  equal.Add("$eq", *bson_iter_value(const_cast<bson_iter_t*>(&value)));
  AddBehindKey(And(match, Doc::Of(Joined(filter.order()), equal)), filter, false, passes);
  for (const Doc& behind : BehindValue(filter, rank, value)) {
    passes.push_back({And(match, Doc::Of(Joined(filter.order()), behind)), SortOf(filter, rank)});
  }
}

}  // namespace

Doc MatchOf(const Filter& filter) {
  Array all;
  for (const Filter::Condition& condition : filter.conditions()) all.Add(ConditionMatch(condition));
  return all.size() == 0 ? Doc() : Doc::Of("$and", all);
}

std::vector<Pass> PassesOf(const Filter& filter) {
  std::vector<Pass> passes;
  if (filter.order().empty()) {
    if (filter.after()) {
      AddBehindKey(Doc(), filter, filter.descending(), passes);
    } else {
      passes.push_back({Doc(), Doc::Of("_id", filter.descending() ? -1 : 1)});
    }
    return passes;
  }
  std::vector<Rank> ranks{kNull, kNumberOrText, kBoolOrDate, kBinaryOrObjectId, kRest};
  if (filter.descending()) std::reverse(ranks.begin(), ranks.end());
  Doc position;
  bson_iter_t value;
  if (filter.after()) {
    AppendValue(position, "value", filter.after()->value);
    FindField(*position.get(), "value", value);
    ranks.erase(ranks.begin(), std::find(ranks.begin(), ranks.end(), StoredRankOf(value)));
  }
  for (const Rank rank : ranks) {
    if (!MayHave(filter, rank)) continue;
    if (filter.after() && rank == ranks.front()) {
      AddBehind(filter, rank, value, passes);
    } else {
      passes.push_back({RankMatch(filter.order(), rank), SortOf(filter, rank)});
    }
  }
  return passes;
}

}  // namespace doclock::mongodb
