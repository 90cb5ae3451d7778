#pragma once

#include <libpq-fe.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doclock/document.h"
#include "doclock/time.h"
#include "postgresql/client/failure.h"

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

  // A value of another type, or none, is no answer to what was asked. @throws Loss
  [[nodiscard]] bool IsNull(int row, int column) const {
    if (row >= size() || column >= PQnfields(get())) RefuseAnswer("it lacks a row or a column");
    return PQgetisnull(get(), row, column) != 0;
  }
  [[nodiscard]] std::string_view Text(int row, int column) const {
    return Value(row, column, {25, 19, 1043});  // text, name, varchar
  }
  [[nodiscard]] std::string_view Jsonb(int row, int column) const {
    return Value(row, column, {3802}).substr(1);  // behind the version of the format
  }
  /// Of an integer of any length, a truth value, or a time.
  [[nodiscard]] std::int64_t Number(int row, int column) const {
    const std::string_view bytes = Value(row, column, {20, 23, 21, 16, 1184, 26});
    const bool negative = static_cast<signed char>(bytes.front()) < 0;
    std::uint64_t number = negative ? ~std::uint64_t{0} : 0;
    for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(number);
  }
  /// A number, 0 if it is NULL.
  [[nodiscard]] std::int64_t NumberIfAny(int row, int column) const {
    return IsNull(row, column) ? 0 : Number(row, column);
  }
  /// A number from `least` on up to this one.
  [[nodiscard]] std::int64_t NumberWithin(int row, int column, std::int64_t least,
                                          std::int64_t most) const {
    const std::int64_t number = Number(row, column);
    if (number < least || number > most) RefuseAnswer("a number is out of its range");
    return number;
  }
  /// Nil if it is NULL.
  [[nodiscard]] Uuid Id(int row, int column) const {
    Uuid id{};
    if (IsNull(row, column)) return id;
    std::memcpy(id.data, Value(row, column, {2950}).data(), sizeof id.data);
    return id;
  }

 private:
  /// In the binary format of one of these types.
  [[nodiscard]] std::string_view Value(int row, int column,
                                       std::initializer_list<Oid> types) const {
    if (IsNull(row, column)) RefuseAnswer("a value is missing");
    const Oid type = PQftype(get(), column);
    const std::string_view value{PQgetvalue(get(), row, column),
                                 static_cast<std::size_t>(PQgetlength(get(), row, column))};
    const std::size_t size = SizeOf(type);
    const bool fits = type == 3802 ? value.starts_with('\1') : size == 0 || value.size() == size;
    if (std::ranges::find(types, type) == types.end() || PQfformat(get(), column) != 1 || !fits) {
      RefuseAnswer("a value has another type");
    }
    return value;
  }

  /// Of the values of a type, in bytes; 0: it varies.
  static constexpr std::size_t SizeOf(Oid type) {
    switch (type) {
      case 16:  // bool
        return 1;
      case 21:  // int2
        return 2;
      case 23:  // int4
      case 26:  // oid
        return 4;
      case 20:    // int8
      case 1184:  // timestamptz
        return 8;
      case 2950:  // uuid
        return 16;
      default:
        return 0;
    }
  }

  struct Clear {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

}  // namespace doclock::postgresql
