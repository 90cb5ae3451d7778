#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doclock/clock.h"
#include "doclock/uuid.h"

namespace doclock::postgresql {

/// The values of a statement, $1 and so on, in PostgreSQL's binary formats.
class Parameters {
 public:
  using Value = std::optional<std::string>;

  Parameters& Null() { return Add(std::nullopt); }
  Parameters& Int2(std::int16_t number) { return Add(BigEndian(number, 2)); }
  Parameters& Int8(std::int64_t number) { return Add(BigEndian(number, 8)); }
  Parameters& Text(std::string_view text) { return Add(std::string(text)); }
  Parameters& Jsonb(std::string_view text) {
    std::string value = "\1";  // the version of the format
    return Add(value.append(text));
  }
  /// Nil is NULL.
  Parameters& Id(const Uuid& id) {
    if (id.is_nil()) return Null();
    return Add(std::string(reinterpret_cast<const char*>(id.data), sizeof id.data));
  }
  /// A timestamptz. The zero of its time points, 1 January 2000, is NULL.
  Parameters& Time(TimePoint time) {
    if (time == TimePoint{}) return Null();
    return Int8(std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count());
  }

  /// Of values in the format of their type, whose number is `oid`.
  Parameters& Array(std::int64_t oid, std::span<const Value> elements) {
    const auto count = static_cast<std::int64_t>(elements.size());
    std::string array;
    // One dimension, nulls perhaps, and the first element is number 1.
    for (const std::int64_t head :
         {std::int64_t{1}, std::int64_t{1}, oid, count, std::int64_t{1}}) {
      array += BigEndian(head, 4);
    }
    for (const Value& one : elements) {
      array += BigEndian(one ? static_cast<std::int64_t>(one->size()) : -1, 4);
      if (one) array += *one;
    }
    return Add(std::move(array));
  }

  [[nodiscard]] std::span<const Value> values() const noexcept { return values_; }

 private:
  static std::string BigEndian(std::int64_t number, int bytes) {
    std::string text;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      text += static_cast<char>(static_cast<std::uint64_t>(number) >> shift & 0xff);
    }
    return text;
  }
  Parameters& Add(Value value) {
    values_.push_back(std::move(value));
    return *this;
  }

  std::vector<Value> values_;
};

}  // namespace doclock::postgresql
