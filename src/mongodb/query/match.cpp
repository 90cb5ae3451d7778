#include "mongodb/query/match.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "document/json/typed_value.h"
#include "mongodb/bson/body_codec.h"

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
void AddNoArrays(Array& all, const std::vector<std::string>& path, bool whole) {
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
  Array here;
  here.Add(Compared(path, "$eq", nullptr)).Add(IsNoArray(Joined(path)));
  here.Add(Doc::Of(Joined(path), Doc::Of("$not", Doc::Of("$type", "undefined"))));
  Array any;
  any.Add(Doc::OfArray("$and", here.doc()));
  AddArrays(any, path, false);
  return Doc::OfArray("$or", any.doc());
}

Doc NotNullMatch(const std::vector<std::string>& path) {
  Array value;
  value.Add(Compared(path, "$ne", nullptr)).Add(IsArray(Joined(path)));
  value.Add(Doc::Of(Joined(path), Doc::Of("$type", "undefined")));
  Array all;
  all.Add(Doc::OfArray("$or", value.doc()));
  AddNoArrays(all, path, false);
  return Doc::OfArray("$and", all.doc());
}

Doc ConditionMatch(const Filter::Condition& condition) {
  if (condition.value.is_null()) {
    if (condition.op == Op::kEqual) return NullMatch(condition.path);
    return condition.op == Op::kNotEqual ? NotNullMatch(condition.path) : Never();
  }
  const Doc compared = Compared(condition.path, NameOf(condition.op), condition.value);
  if (condition.op == Op::kNotEqual) {
    Array any;
    any.Add(compared);
    AddArrays(any, condition.path, true);
    return Doc::OfArray("$or", any.doc());
  }
  Array all;
  all.Add(compared);
  AddNoArrays(all, condition.path, true);
  return Doc::OfArray("$and", all.doc());
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
    all.Add(Doc::OfArray("$or", any.doc()));
    AddNoArrays(all, path, false);
  } else {
    Doc types;
    types.AddStrings("$type", {kTypes[rank][0], kTypes[rank][1]});
    all.Add(Doc::Of(field, types));
    AddNoArrays(all, path, true);
  }
  return Doc::OfArray("$and", all.doc());
}

/// A condition on the field itself leaves one kind of value.
bool MayHave(const Filter& filter, Rank rank) {
  for (const Filter::Condition& condition : filter.conditions()) {
    if (condition.path != filter.order() || condition.op == Op::kNotEqual) continue;
    if (RankOf(condition.value) != rank) return false;
  }
  return true;
}

Doc SortOf(const Filter& filter, Rank rank) {
  Doc sort;
  const bool tied = rank == kNull || rank == kRest;
  if (!tied) sort.Add(Joined(filter.order()), filter.descending() ? -1 : 1);
  sort.Add("_id", 1);
  return sort;
}

}  // namespace

Doc MatchOf(const Filter& filter) {
  Array all;
  for (const Filter::Condition& condition : filter.conditions()) all.Add(ConditionMatch(condition));
  return all.size() == 0 ? Doc() : Doc::OfArray("$and", all.doc());
}

std::vector<Pass> PassesOf(const Filter& filter) {
  std::vector<Pass> passes;
  if (filter.order().empty()) {
    passes.push_back({Doc(), Doc::Of("_id", 1)});
    return passes;
  }
  std::vector<Rank> ranks{kNull, kNumberOrText, kBoolOrDate, kBinaryOrObjectId, kRest};
  if (filter.descending()) std::reverse(ranks.begin(), ranks.end());
  for (const Rank rank : ranks) {
    if (MayHave(filter, rank)) {
      passes.push_back({RankMatch(filter.order(), rank), SortOf(filter, rank)});
    }
  }
  return passes;
}

}  // namespace doclock::mongodb
