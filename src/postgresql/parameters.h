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

  [[nodiscard]] std::span<const std::optional<std::string>> values() const noexcept {
    return values_;
  }

 private:
  static std::string BigEndian(std::int64_t number, int bytes) {
    std::string text;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      text += static_cast<char>(static_cast<std::uint64_t>(number) >> shift & 0xff);
    }
    return text;
  }
  Parameters& Add(std::optional<std::string> value) {
    values_.push_back(std::move(value));
    return *this;
  }

  std::vector<std::optional<std::string>> values_;
};

}  // namespace doclock::postgresql
