#include "sql/search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "document/json/typed_value.h"
#include "document/values/utf8.h"

namespace doclock::sql {
namespace {

using Json = nlohmann::json;
using Op = Filter::Op;

/// SQLite refuses an expression that is too deep. The filter itself decides, as of the others.
constexpr std::size_t kMostConditions = 100;
/// How far from a number, in proportion, a server may read it.
constexpr double kWide = 1e-14;

/// Whether each server takes the value.
bool CanBind(const Json& value) {
  if (value.is_number()) return std::isfinite(value.get<double>());
  const auto* const text = value.get_ptr<const std::string*>();
  return text == nullptr || (text->find('\0') == text->npos && detail::IsUtf8(*text));
}

/// Whether servers read a number as this library does.
bool ReadsAlike(const Json& value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  return !value.is_number() ||
         (value.is_number_integer() && std::fabs(value.get<double>()) < kExact);
}

/// A value that is less, or greater, than all that a server may read in its place.
Json Widened(const Json& value, double by) {
  if (ReadsAlike(value)) return value;
  const auto number = value.get<double>();
  return number + (std::fabs(number) + std::numeric_limits<double>::min()) * by;
}

class Selects {
 public:
  Selects(const Filter& filter, const Dialect& dialect)
      : filter_(filter), dialect_(dialect), order_(filter.order()), down_(filter.descending()) {
    if (filter.after()) rank_ = RankOf(filter.after()->value);
    for (const Filter::Condition& condition : filter.conditions()) {
      if (condition.path != order_ || condition.op == Op::kNotEqual || wanted_) continue;
      wanted_ = RankOf(condition.value);
    }
  }

  std::vector<Select> Take(bool sorts) {
    if (order_.empty()) {
      Select& select = Add({});
      if (rank_) select.where += BehindKey(down_ ? " < " : " > ", select);
      select.order = dialect_.ByKey(down_);
    } else if (!sorts || !dialect_.Names(order_)) {
      Add({});
    } else {
      std::vector<Ranks> all(dialect_.ranks().begin(), dialect_.ranks().end());
      if (down_) std::ranges::reverse(all);
      for (const Ranks& ranks : all) AddOf(ranks);
    }
    return std::move(selects_);
  }

 private:
  void AddOf(const Ranks& ranks) {
    if (wanted_ && !ranks.Have(*wanted_)) return;
    if (rank_ && (down_ ? ranks.first > *rank_ : ranks.last < *rank_)) return;
    const bool has_position = rank_ && ranks.Have(*rank_);
    if (ranks.first == Rank::kRest) {
      AddWithin(ranks);
    } else if (ranks.last == Rank::kNull) {
      Select& select = AddWithin(ranks);
      if (has_position) select.where += BehindKey(" > ", select);
      select.order = dialect_.ByKey(false);
    } else if (!has_position) {
      AddWithin(ranks).order = ByValue(ranks);
    } else {
      AddBehind(ranks, filter_.after()->value);
    }
  }

  void AddBehind(const Ranks& ranks, const Json& value) {
    const char* const behind = down_ ? " < " : " > ";
    const bool exact = CanBind(value) && (!value.is_number() || dialect_.IsExact(value));
    if (exact) {
      Select& ties = Add(ranks);
      ties.where += dialect_.Compare(order_, " = ", value, ties.values);
      ties.where += BehindKey(" > ", ties);
      ties.order = dialect_.ByKey(false);
    }
    Select& others = Add(ranks, /*behind=*/true);
    others.overlaps = !exact;
    if (exact) {
      others.where += dialect_.Compare(order_, behind, value, others.values);
    } else {
      const Json before = Widened(value, down_ ? kWide : -kWide);
      others.where += CanBind(before) ? dialect_.Compare(order_, behind, before, others.values)
                                      : (down_ ? dialect_.Until(order_, *rank_)
                                               : dialect_.From(order_, *rank_));
    }
    if (!wanted_) {
      others.where +=
          down_ ? dialect_.From(order_, ranks.first) : dialect_.Until(order_, ranks.last);
    }
    others.order = ByValue(ranks);
  }

  Select& AddWithin(const Ranks& ranks) {
    Select& select = Add(ranks);
    if (!wanted_) {
      select.where += dialect_.From(order_, ranks.first) + dialect_.Until(order_, ranks.last);
    }
    return select;
  }

  /// @param behind its documents are only those behind the position: SQLite may take any of several
  /// bounds, so that of a condition is left out
  Select& Add(const Ranks& ranks, bool behind = false) {
    Select& select = selects_.emplace_back();
    select.ranks = ranks;
    select.where = "true" + dialect_.HasState(filter_.lock_state());
    std::size_t left = kMostConditions;
    for (const Filter::Condition& condition : filter_.conditions()) {
      if (left-- == 0) break;
      const bool bounded = behind && condition.path == order_;
      AddCondition(select, condition, !bounded || down_, !bounded || !down_);
    }
    return select;
  }

  /// @param from shall it have the lower bound? (Likewise `up_to`.)
  void AddCondition(Select& select, const Filter::Condition& condition, bool from, bool up_to) {
    const auto& [path, op, value] = condition;
    if (op == Op::kNotEqual) return;
    if (detail::IsKeyPath(path)) {
      constexpr const char* kOperators[] = {" = ", "", " < ", " <= ", " > ", " >= ", " <= "};
      const auto key = KeyFrom(value);
      const char* const as = kOperators[static_cast<std::size_t>(op)];
      if (key) select.where += dialect_.CompareKey(as, *key, select.values);
      return;
    }
    if (!dialect_.Names(path)) return;
    const Rank rank = RankOf(value);
    const bool equal = op == Op::kEqual;
    const bool binds = rank != Rank::kNull && rank != Rank::kRest;
    if (equal && binds && CanBind(value) && ReadsAlike(value)) {
      select.where += dialect_.Compare(path, " = ", value, select.values);
      return;
    }
    if (rank == Rank::kNull && !equal) select.where += " AND false";
    const Json low = Widened(value, -kWide), high = Widened(value, kWide);
    const bool has_low = binds && CanBind(low) && op != Op::kLess && op != Op::kAtMost,
               has_high = binds && CanBind(high) && op != Op::kGreater && op != Op::kAtLeast;
    const bool strict = ReadsAlike(value);
    if (from) {
      const char* const as = strict && op == Op::kGreater ? " > " : " >= ";
      select.where +=
          has_low ? dialect_.Compare(path, as, low, select.values) : dialect_.From(path, rank);
    }
    if (up_to) {
      const char* const as = strict && op == Op::kLess ? " < " : " <= ";
      select.where +=
          has_high ? dialect_.Compare(path, as, high, select.values) : dialect_.Until(path, rank);
    }
  }

  std::string BehindKey(const char* op, Select& select) const {
    return dialect_.CompareKey(op, filter_.after()->key, select.values);
  }
  [[nodiscard]] std::string ByValue(const Ranks& ranks) const {
    return dialect_.Field(order_, ranks.last) + (down_ ? " DESC, " : ", ") + dialect_.ByKey(false);
  }

  const Filter& filter_;
  const Dialect& dialect_;
  const Path& order_;
  const bool down_;
  std::optional<Rank> rank_;    ///< The position's rank.
  std::optional<Rank> wanted_;  ///< The only rank that meets the conditions.
  std::vector<Select> selects_;
};

/// Rows in the server's order. Those whose numbers it does not order exactly are collected until
/// all that are equal as doubles have come.
class Sorted {
 public:
  Sorted(const Filter& filter, const Dialect& dialect, const std::function<bool(QueryRow&&)>& visit)
      : filter_(filter), dialect_(dialect), visit_(visit) {}

  /// Returns whether `visit` wants more. (Likewise End.)
  bool Show(QueryRow&& row) {
    const Json& value = ValueAt(TreeOf(row.body), filter_.order());
    const bool exact = filter_.order().empty() || !value.is_number() || dialect_.IsExact(value);
    const bool has_room = rows_.size() < kPageRows && bytes_ < kPageBytes;
    const bool same = !exact && has_room && value.get<double>() == number_;
    if (!same && !End()) return false;
    if (exact) return wanted_ = visit_(std::move(row));
    number_ = value.get<double>();
    bytes_ += row.body.size_hint();
    rows_.push_back(std::move(row));
    return true;
  }
  bool End() {
    std::ranges::sort(rows_, [&](const QueryRow& a, const QueryRow& b) {
      return IsBefore(filter_, PositionOf(filter_, a.key, a.body),
                      PositionOf(filter_, b.key, b.body), dialect_.keys());
    });
    bytes_ = 0;
    for (QueryRow& row : std::exchange(rows_, {})) wanted_ = wanted_ && visit_(std::move(row));
    return wanted_;
  }

 private:
  const Filter& filter_;
  const Dialect& dialect_;
  const std::function<bool(QueryRow&&)>& visit_;
  bool wanted_ = true;
  double number_ = 0;
  std::size_t bytes_ = 0;
  std::vector<QueryRow> rows_;
};

/// Is the document one that the SELECT is to show? One that has no tree is, wherever it comes.
bool IsOf(const Select& select, const Filter& filter, const Dialect& dialect, const QueryRow& row) {
  if (filter.order().empty()) return true;
  const Filter::Position position = PositionOf(filter, row.key, row.body);
  const Rank rank = RankOf(position.value);
  return (rank == Rank::kNull || select.ranks.Have(rank)) &&
         (!select.overlaps || IsBefore(filter, *filter.after(), position, dialect.keys()));
}

}  // namespace

Rank RankOf(const Json& value) noexcept {
  if (value.is_null()) return Rank::kNull;
  if (value.is_number()) return Rank::kNumber;
  if (value.is_string()) return Rank::kText;
  if (value.is_boolean()) return Rank::kBoolean;
  return detail::KindOf(value) == detail::TypedKind::kDate ? Rank::kDate : Rank::kRest;
}

std::vector<Select> SelectsOf(const Filter& filter, const Dialect& dialect, bool sorts) {
  return Selects(filter, dialect).Take(sorts);
}

void Search(const Filter& filter, const Dialect& dialect, bool sorts, const Run& run,
            const std::function<bool(QueryRow&&)>& visit) {
  std::int64_t shown = 0;
  bool wanted = true;
  const auto count = [&](QueryRow&& row) {
    return wanted = visit(std::move(row)) && ++shown != filter.limit();
  };
  for (const Select& select : SelectsOf(filter, dialect, sorts)) {
    const auto show_to = [&](const std::function<bool(QueryRow&&)>& show) {
      run(select, [&](QueryRow&& row) {
        const bool meets = StateMatches(filter, row.locked) && Matches(filter, row.key, row.body) &&
                           IsOf(select, filter, dialect, row);
        return !meets || show(std::move(row));
      });
    };
    if (select.order.empty()) {
      const auto show_all = [&](FirstRows& rows) {
        show_to([&](QueryRow&& row) {
          rows.Show(std::move(row));
          return true;
        });
      };
      VisitInOrder(filter, kPageRows, show_all, count, dialect.keys());
    } else {
      const std::function<bool(QueryRow&&)> sink = count;
      Sorted sorted(filter, dialect, sink);
      show_to([&](QueryRow&& row) { return sorted.Show(std::move(row)); });
      sorted.End();
    }
    if (!wanted) return;
  }
}

}  // namespace doclock::sql
