#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "doclock/uuid.h"

namespace doclock::postgresql {

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
    return Text(row, column).substr(1);  // behind the version of the format
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
