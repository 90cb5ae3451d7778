#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "doclock/document.h"

struct sqlite3;
struct sqlite3_stmt;

namespace doclock::sqlite {

/// One prepared statement. Bound values must live until the statement is reset.
class Statement {
 public:
  /// @throws DatabaseError
  Statement(sqlite3* database, std::string_view sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  void BindNull(int index);
  void Bind(int index, std::int64_t value);
  void Bind(int index, double value);
  void Bind(int index, std::string_view text);
  void Bind(int index, const std::string& text) { Bind(index, std::string_view(text)); }
  /// Binds the count of its own unit.
  template <class Rep, class Period>
  void Bind(int index, std::chrono::duration<Rep, Period> length) {
    Bind(index, std::int64_t{length.count()});
  }
  void Bind(int index, const Uuid& id);
  void Bind(int index, const Key& key);

  /// Goes to the next row; false when there is none. @throws DatabaseError
  bool Step();
  /// Runs a statement that changes one row. @throws DatabaseError SQLITE_CONSTRAINT_TRIGGER if it
  /// has not: RAISE(IGNORE) of a trigger ends it, and SQLite takes that for success.
  void ChangeOne();
  /// Makes it ready to run again.
  void Reset() noexcept;

  [[nodiscard]] bool IsInteger(int column) const noexcept;
  [[nodiscard]] bool IsNull(int column) const noexcept;
  [[nodiscard]] bool IsText(int column) const noexcept;
  [[nodiscard]] std::int64_t Integer(int column) const noexcept;
  /// Valid until the next Step or Reset.
  [[nodiscard]] std::string_view Text(int column) const noexcept;
  /// The UUID; nothing unless it is a blob of 16 bytes.
  [[nodiscard]] std::optional<Uuid> Id(int column) const noexcept;
  /// The key; nothing unless it is a value that stands for a Key.
  [[nodiscard]] std::optional<Key> KeyAt(int column) const;

 private:
  void BindBlob(int index, std::span<const std::uint8_t> bytes);
  [[nodiscard]] std::span<const std::uint8_t> Blob(int column) const noexcept;
  void Check(int code) const;
  [[noreturn]] void Throw() const;

  sqlite3_stmt* statement_ = nullptr;
};

/// A statement in use: resets it at the end of the scope.
class Running {
 public:
  explicit Running(Statement& statement) noexcept : statement_(statement) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { statement_.Reset(); }
  Statement* operator->() const noexcept { return &statement_; }
  Statement& operator*() const noexcept { return statement_; }

 private:
  Statement& statement_;
};

}  // namespace doclock::sqlite
