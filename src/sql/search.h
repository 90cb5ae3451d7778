#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/store/store.h"
#include "document/json/row_filter.h"

namespace doclock::sql {

// Searches as both SQL stores run them: the server narrows them down and sorts, the filter decides.

/// A field's path through the body.
using Path = std::vector<std::string>;

/// The types of values in the order of OrderBy. Only the filter knows the order of kRest.
enum class Rank : std::uint8_t { kNull, kNumber, kText, kBoolean, kDate, kRest };
DOCLOCK_EXPORT Rank RankOf(const nlohmann::json& value) noexcept;

/// Neighbouring ranks that a server sorts by one expression.
struct Ranks {
  Rank first = Rank::kNull, last = Rank::kRest;
  [[nodiscard]] bool Have(Rank rank) const noexcept { return first <= rank && rank <= last; }
};

/// The values that a statement binds.
using Values = std::vector<std::variant<std::int64_t, std::string, Key>>;

/// One SELECT of a search.
struct Select {
  Ranks ranks;            ///< Which documents it shows, by the field of the order.
  bool overlaps = false;  ///< Documents before the filter's position may meet `where`, too.
  std::string where;      ///< A condition that others may meet, too.
  std::string order;      ///< The expressions to sort by; empty: the server does not sort.
  Values values;          ///< Number 1 of `where` and so on.
};

/// The parts of a search in a server's SQL. A condition begins with " AND ".
class DOCLOCK_EXPORT Dialect {
 public:
  virtual ~Dialect() = default;
  /// Returns the ranks that the server sorts by one expression, in the order of ranks. kRest is on
  /// its own, and so is kNull unless it has a value.
  [[nodiscard]] virtual std::span<const Ranks> ranks() const noexcept = 0;
  /// Whether the server can name the field.
  [[nodiscard]] virtual bool Names(const Path&) const { return true; }
  /// Returns the expression that sorts documents by a field of this rank.
  [[nodiscard]] virtual std::string Field(const Path& path, Rank rank) const = 0;
  /// Returns the condition that the field compares so with a value. @param op of SQL
  [[nodiscard]] virtual std::string Compare(const Path& path, const char* op,
                                            const nlohmann::json& value, Values& values) const = 0;
  /// Returns the condition that the field is not before values of this rank.
  [[nodiscard]] virtual std::string From(const Path& path, Rank rank) const = 0;
  /// Returns the condition that the field is not behind values of this rank.
  [[nodiscard]] virtual std::string Until(const Path& path, Rank rank) const = 0;
  [[nodiscard]] virtual std::string CompareKey(const char* op, const Key& key,
                                               Values& values) const = 0;
  [[nodiscard]] virtual std::string ByKey(bool descending) const = 0;
  /// Returns the order of keys that ByKey asks for.
  [[nodiscard]] virtual KeyOrder keys() const noexcept { return OrderOfKey; }
  [[nodiscard]] virtual std::string HasState(Filter::LockState state) const = 0;
  /// Whether the server has the number's place among others just where the filter has it.
  [[nodiscard]] virtual bool IsExact(const nlohmann::json& number) const = 0;
};

/// The SELECTs whose documents, one after the other, are those of the filter in its order.
/// @param sorts shall the server sort by a field?
DOCLOCK_EXPORT std::vector<Select> SelectsOf(const Filter& filter, const Dialect& dialect,
                                             bool sorts = true);

/// Shows the documents of a SELECT until `show` returns false.
using Run = std::function<void(const Select& select, const std::function<bool(QueryRow&&)>& show)>;

/// Shows the documents that meet the filter, in its order, until `visit` returns false or the limit
/// is reached, in the memory of a page.
DOCLOCK_EXPORT void Search(const Filter& filter, const Dialect& dialect, bool sorts, const Run& run,
                           const std::function<bool(QueryRow&&)>& visit);

}  // namespace doclock::sql
