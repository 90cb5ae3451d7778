#include "postgresql/query/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "document/json/row_filter.h"
#include "postgresql/client/quoted.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
namespace {

using Json = nlohmann::json;

/// A lock that is over, or none. The server's clock goes on while it searches: later all the more.
constexpr const char* kFree =
    " AND (lock_id IS NULL OR lock_time IS NULL OR lock_ttl IS NULL"
    " OR lock_time + least(lock_ttl, 31536000000) * interval '1 ms' <= clock_timestamp())";
/// What is malformed counts as locked.
constexpr const char* kLocked = " AND (lock_id IS NOT NULL OR lock_version < 0)";

std::string Place(const Parameters& parameters) {
  return "$" + std::to_string(parameters.values().size());
}

std::string LastThree(const Parameters& parameters) {
  const std::size_t last = parameters.values().size();
  return "($" + std::to_string(last - 2) + ", $" + std::to_string(last - 1) + ", $" +
         std::to_string(last) + ")";
}

void AddKeyTo(Where& where, const Key& key) {
  AddKey(where.parameters, key);
  where.sql += " AND (key_kind, key_number, key_text) = " + LastThree(where.parameters);
}

const char* OperatorOf(Filter::Op op) {
  switch (op) {
    case Filter::Op::kLess:
      return " < ";
    case Filter::Op::kGreater:
      return " > ";
    case Filter::Op::kAtLeast:
      return " >= ";
    case Filter::Op::kEqual:
      return " = ";
    default:
      return " <= ";
  }
}

std::string AsText(const std::string& at) { return "(" + at + " #>> '{}') COLLATE \"C\""; }

/// No text in a body has U+0000, and none can be sent. Then the client alone compares.
bool HoldsNul(const Json& value) {
  const auto* const text = value.get_ptr<const std::string*>();
  return text != nullptr && text->find('\0') != text->npos;
}

/// An index tells neither from a value that is too long.
std::string IsNull(const std::string& at) {
  return " AND " + ForIndex(at) + " IS NULL AND coalesce(" + at + ", 'null') = 'null'";
}

/// jsonb has an order of its own for texts.
void AddTextRange(Where& where, const std::string& at, const Filter::Condition& condition) {
  where.parameters.Text(condition.value.get_ref<const std::string&>());
  where.sql += " AND jsonb_typeof(" + at + ") = 'string' AND " + AsText(at) +
               OperatorOf(condition.op) + Place(where.parameters);
}

/// A range has values of one type.
void AddRange(Where& where, const std::string& indexed, Filter::Op op, Rank rank) {
  const bool below = op == Filter::Op::kLess || op == Filter::Op::kAtMost || op == Filter::Op::kDue;
  const Bounds bounds = BoundsOf(rank);
  where.sql += " AND " + indexed +
               (below ? std::string(" >= ") + bounds.first : std::string(" <= ") + bounds.last);
}

void AddTo(Where& where, const Filter& filter, const Filter::Condition& condition) {
  if (detail::IsKeyPath(condition.path) || condition.op == Filter::Op::kNotEqual) return;
  const Json& value = condition.value;
  if (HoldsNul(value)) return;
  const std::string at = PathIntoBody(condition.path);
  const bool equals = condition.op == Filter::Op::kEqual;
  const Rank rank = RankOf(value);
  if (rank == Rank::kNull) {
    where.sql += equals ? IsNull(at) : " AND false";
  } else if (rank == Rank::kText && !equals) {
    AddTextRange(where, at, condition);
  } else if (rank != Rank::kRest && (rank != Rank::kNumber || ComparesAlike(value))) {
    const std::string json = Indexed(value);
    where.parameters.Jsonb(json);
    const std::string compared = OperatorOf(condition.op) + Place(where.parameters);
    // The server may write the same value at twice the length.
    const bool fits = json.size() <= kLongestIndexed / 2;
    where.sql += " AND " + (fits ? ForIndex(at) : at) + compared;
    // A unique index has another expression. Where the server may look for the order in the same
    // index, a repeated condition would mislead it about how many documents there are.
    const bool apart = equals ? condition.path != filter.order() : filter.order().empty();
    if (rank != Rank::kDate && apart) where.sql += " AND " + ForUniqueIndex(at) + compared;
    if (!equals) AddRange(where, ForIndex(at), condition.op, rank);
  }
}

const char* Behind(const Filter& filter) { return filter.descending() ? " < " : " > "; }

/// The order of keys, behind `sql`.
std::string ByKey(const std::string& sql, const char* direction) {
  return sql + "key_kind" + direction + ", key_number" + direction + ", key_text" + direction;
}

/// The ranks that can meet the conditions on the field of the order, in its order.
std::vector<Rank> RanksFor(const Filter& filter) {
  for (const Filter::Condition& condition : filter.conditions()) {
    if (condition.path == filter.order() && condition.op != Filter::Op::kNotEqual) {
      return {RankOf(condition.value)};
    }
  }
  std::vector<Rank> all{Rank::kNull,    Rank::kNumber, Rank::kText,
                        Rank::kBoolean, Rank::kDate,   Rank::kRest};
  if (filter.descending()) std::ranges::reverse(all);
  return all;
}

/// Adds the value behind which the pass goes on, and returns whether it is that of the position.
/// Nothing: the server does not compare with it.
std::optional<bool> AddBound(Parameters& parameters, const Filter& filter, Rank rank) {
  const Json& value = filter.after()->value;
  if (rank == Rank::kText) {
    const auto& text = value.get_ref<const std::string&>();
    // A text that is not valid UTF-8 is for doclock.
    constexpr auto kReplace = Json::error_handler_t::replace;
    if (HoldsNul(value) || Json::parse(value.dump(-1, ' ', false, kReplace)) != value) {
      return std::nullopt;
    }
    parameters.Text(text);
    return true;
  }
  if (rank != Rank::kNumber || IsExact(value)) {
    parameters.Jsonb(Indexed(value));
    return true;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double before =
      std::nextafter(value.get<double>(), filter.descending() ? kInfinity : -kInfinity);
  if (!std::isfinite(before)) return std::nullopt;
  parameters.Jsonb(Json(before).dump());
  return false;
}

/// The rest of the rank in which the position is.
void AddBehind(Pass& pass, const Filter& filter, const std::string& value) {
  Parameters& parameters = pass.where.parameters;
  std::string begin = " AND ", end;
  if (pass.rank != Rank::kNull) {
    const auto exact = AddBound(parameters, filter, pass.rank);
    if (!exact) return;
    const std::string bound = Place(parameters);
    pass.where.sql += " AND " + value + (filter.descending() ? " <= " : " >= ") + bound;
    if (!*exact) return;
    begin += "(" + value + " <> " + bound + " OR ";
    end = ")";
  }
  AddKey(parameters, filter.after()->key);
  pass.where.sql += begin + "(key_kind, key_number, key_text) > " + LastThree(parameters) + end;
}

Pass PassOf(const Filter& filter, Rank rank) {
  const std::string at = PathIntoBody(filter.order()), indexed = ForIndex(at);
  Pass pass{rank, WhereOf(filter), ""};
  std::string value = indexed;
  switch (rank) {
    case Rank::kNull:
      pass.where.sql += IsNull(at);
      break;
    case Rank::kText:
      value = AsText(at);
      pass.where.sql += " AND jsonb_typeof(" + at + ") = 'string'";
      break;
    case Rank::kRest:
      pass.where.sql += " AND jsonb_typeof(" + at + ") IN ('object', 'array')";
      return pass;
    default:
      pass.where.sql +=
          " AND " + indexed + " BETWEEN " + BoundsOf(rank).first + " AND " + BoundsOf(rank).last;
  }
  const bool down = filter.descending() && rank != Rank::kNull;
  pass.order = ByKey(value + (down ? " DESC, " : ", "), "");
  if (filter.after() && RankOf(filter.after()->value) == rank) AddBehind(pass, filter, value);
  return pass;
}

Pass PassByKey(const Filter& filter) {
  Pass pass{Rank::kNull, WhereOf(filter), ByKey("", filter.descending() ? " DESC" : "")};
  if (!filter.after()) return pass;
  AddKey(pass.where.parameters, filter.after()->key);
  pass.where.sql += " AND (key_kind, key_number, key_text)" + std::string(Behind(filter)) +
                    LastThree(pass.where.parameters);
  return pass;
}

}  // namespace

std::vector<Pass> PassesOf(const Filter& filter) {
  if (filter.order().empty()) return {PassByKey(filter)};
  std::vector<Pass> passes;
  std::vector<Rank> ranks = RanksFor(filter);
  if (filter.after()) {
    const auto first = RankOf(filter.after()->value);
    std::erase_if(ranks,
                  [&](Rank rank) { return filter.descending() ? rank > first : rank < first; });
  }
  for (const Rank rank : ranks) passes.push_back(PassOf(filter, rank));
  return passes;
}

std::string MembersFor(const Filter& filter) {
  std::set<std::string> names{filter.order().front()};
  for (const Filter::Condition& condition : filter.conditions()) {
    if (!detail::IsKeyPath(condition.path)) names.insert(condition.path.front());
  }
  std::string members;
  for (const std::string& name : names) {
    const std::string at = QuotedText(name);
    members += (members.empty() ? "" : ", ") + at + ", body -> " + at;
  }
  return "jsonb_build_object(" + members + ")::text";
}

Where WhereOf(const Filter& filter) {
  Where where;
  if (const auto key = EqualKey(filter)) AddKeyTo(where, *key);
  for (const Filter::Condition& condition : filter.conditions()) AddTo(where, filter, condition);
  if (filter.lock_state() == Filter::LockState::kFree) where.sql += kFree;
  if (filter.lock_state() == Filter::LockState::kLocked) where.sql += kLocked;
  return where;
}

Where WhereOf(const LockQuery& query) {
  Where where;
  if (query.key) AddKeyTo(where, *query.key);
  if (!query.unheld) where.sql += kLocked;
  return where;
}

}  // namespace doclock::postgresql
