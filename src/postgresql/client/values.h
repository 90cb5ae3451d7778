#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <cstring>
#include <memory>
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
    if (values_.empty()) values_.reserve(16);
    values_.push_back(std::move(value));
    return *this;
  }

  std::vector<Value> values_;
};

/// What a statement gave: rows, in PostgreSQL's binary formats.
class Result {
 public:
  explicit Result(PGresult* result) : result_(result) {}

  [[nodiscard]] PGresult* get() const noexcept { return result_.get(); }
  [[nodiscard]] int size() const noexcept { return PQntuples(get()); }
  /// "COMMIT", "UPDATE 1".
  [[nodiscard]] std::string_view tag() const noexcept { return PQcmdStatus(get()); }

  [[nodiscard]] bool IsNull(int row, int column) const noexcept {
    return PQgetisnull(get(), row, column) != 0;
  }
  [[nodiscard]] std::string_view Text(int row, int column) const noexcept {
    return {PQgetvalue(get(), row, column),
            static_cast<std::size_t>(PQgetlength(get(), row, column))};
  }
  [[nodiscard]] std::string_view Jsonb(int row, int column) const noexcept {
    const std::string_view value = Text(row, column);
    return value.substr(value.empty() ? 0 : 1);  // behind the version of the format
  }
  /// Of an integer of any length, or a time; 0 if it is NULL.
  [[nodiscard]] std::int64_t Number(int row, int column) const noexcept {
    const std::string_view bytes = Text(row, column);
    const bool negative = !bytes.empty() && static_cast<signed char>(bytes.front()) < 0;
    std::uint64_t number = negative ? ~std::uint64_t{0} : 0;
    for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(number);
  }
  /// Nil if it is NULL.
  [[nodiscard]] Uuid Id(int row, int column) const noexcept {
    Uuid id{};
    const std::string_view bytes = Text(row, column);
    if (bytes.size() == sizeof id.data) std::memcpy(id.data, bytes.data(), sizeof id.data);
    return id;
  }

 private:
  struct Clear {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

}  // namespace doclock::postgresql
