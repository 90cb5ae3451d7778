#pragma once

#include <chrono>
#include <cstdint>

#include "doclock/uuid.h"
#include "sqlite/statement.h"
#include "sqlite/stored_lock.h"

namespace doclock::sqlite {

/// Takes values out of a row and remembers whether one was not what it should be.
class Columns {
 public:
  explicit Columns(const Statement& row) noexcept : row_(row) {}

  std::int64_t Integer(int column, std::int64_t lowest, std::int64_t highest) noexcept {
    const std::int64_t value = row_.Integer(column);
    good_ = good_ && row_.IsInteger(column) && value >= lowest && value <= highest;
    return value;
  }
  std::int64_t Any(int column) noexcept { return Integer(column, INT64_MIN, INT64_MAX); }
  std::chrono::nanoseconds Time(int column) noexcept {
    // Half the range: times and leases can be added without a look at overflow.
    return std::chrono::nanoseconds(Integer(column, 0, INT64_MAX / 2));
  }
  std::chrono::milliseconds Ttl(int column) noexcept {
    return std::chrono::milliseconds(Integer(column, 0, kLongestTtl.count()));
  }
  Uuid Id(int column) noexcept {
    const auto id = row_.Id(column);
    good_ = good_ && id.has_value();
    return id.value_or(Uuid{});
  }
  [[nodiscard]] bool good() const noexcept { return good_; }

 private:
  const Statement& row_;
  bool good_ = true;
};

}  // namespace doclock::sqlite
