#pragma once

#include <chrono>
#include <cstdint>

#include "doclock/uuid.h"
#include "rules/lock_state.h"
#include "sqlite/db/statement.h"
#include "sqlite/locks/lock_columns.h"

namespace doclock::sqlite {

static_assert(rules::kLongestLease.count() == 31'536'000'000, "as sqlite/db/sql.h has it");

/// Takes values out of a row and remembers whether one had a wrong type or range.
class Columns {
 public:
  explicit Columns(const Statement& row) noexcept : row_(row) {}

  std::int64_t Integer(int column, std::int64_t lowest, std::int64_t highest) noexcept {
    const std::int64_t value = row_.Integer(column);
    Check(column, row_.IsInteger(column) && value >= lowest && value <= highest);
    return value;
  }
  std::int64_t Any(int column) noexcept { return Integer(column, INT64_MIN, INT64_MAX); }
  std::chrono::nanoseconds Time(int column) noexcept {
    // Half the range: times and leases can be added without overflow.
    return std::chrono::nanoseconds(Integer(column, 0, INT64_MAX / 2));
  }
  std::chrono::milliseconds Ttl(int column) noexcept {
    return std::chrono::milliseconds(Integer(column, 0, rules::kLongestLease.count()));
  }
  Uuid Id(int column) noexcept {
    const auto id = row_.Id(column);
    Check(column, id.has_value());
    return id.value_or(Uuid{});
  }
  [[nodiscard]] bool good() const noexcept { return bad_ < 0; }
  /// The first wrong column; -1: none.
  [[nodiscard]] int bad() const noexcept { return bad_; }

 private:
  void Check(int column, bool good) noexcept {
    if (!good && bad_ < 0) bad_ = column;
  }

  const Statement& row_;
  int bad_ = -1;
};

}  // namespace doclock::sqlite
