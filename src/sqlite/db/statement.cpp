#include "sqlite/db/statement.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <variant>

#include "doclock/errors.h"
#include "platform/plain_numbers.h"
#include "sqlite/db/database_error.h"

namespace doclock::sqlite {
namespace {

/// The bytes of a Uuid, in all versions of Boost.
std::span<const std::uint8_t> BytesOf(const Uuid& id) noexcept {
  static_assert(sizeof(Uuid) == 16);
  return {reinterpret_cast<const std::uint8_t*>(&id), sizeof id};
}

}  // namespace

Statement::Statement(sqlite3* database, std::string_view sql) {
  const int code = sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) {
    throw LastError(database);
  }
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::Throw() const { throw LastError(sqlite3_db_handle(statement_)); }

void Statement::Check(int code) const {
  if (code != SQLITE_OK) Throw();
}

void Statement::BindNull(int index) { Check(sqlite3_bind_null(statement_, index)); }

void Statement::Bind(int index, std::int64_t value) {
  Check(sqlite3_bind_int64(statement_, index, value));
}

void Statement::Bind(int index, double value) {
  Check(sqlite3_bind_double(statement_, index, value));
}

void Statement::Bind(int index, std::string_view text) {
  // SQLite takes a null pointer for NULL; an empty text need not have a pointer.
  const char* const start = text.data() != nullptr ? text.data() : "";
  Check(sqlite3_bind_text64(statement_, index, start, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::Bind(int index, const Uuid& id) { BindBlob(index, BytesOf(id)); }

void Statement::Bind(int index, const Key& key) {
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          Bind(index, std::string_view(value));
        } else if constexpr (std::is_same_v<T, ObjectId>) {
          BindBlob(index, value.bytes);
        } else {
          Bind(index, value);
        }
      },
      key.value());
}

void Statement::BindBlob(int index, std::span<const std::uint8_t> bytes) {
  Check(sqlite3_bind_blob64(statement_, index, bytes.data(), bytes.size(), SQLITE_STATIC));
}

bool Statement::Step() {
  const platform::PlainNumbers plain;  // for json_extract, and the values of indexes
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) Throw();
  return false;
}

void Statement::ChangeOne() {
  Step();
  if (sqlite3_changes(sqlite3_db_handle(statement_)) == 1) return;
  throw DatabaseError(SQLITE_CONSTRAINT_TRIGGER,
                      "a trigger of another program has left the row as it was (RAISE(IGNORE))");
}

void Statement::Reset() noexcept { sqlite3_reset(statement_); }

bool Statement::IsInteger(int column) const noexcept {
  return sqlite3_column_type(statement_, column) == SQLITE_INTEGER;
}

bool Statement::IsNull(int column) const noexcept {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

bool Statement::IsText(int column) const noexcept {
  return sqlite3_column_type(statement_, column) == SQLITE_TEXT;
}

std::int64_t Statement::Integer(int column) const noexcept {
  return sqlite3_column_int64(statement_, column);
}

std::string_view Statement::Text(int column) const noexcept {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::span<const std::uint8_t> Statement::Blob(int column) const noexcept {
  if (sqlite3_column_type(statement_, column) != SQLITE_BLOB) return {};
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::optional<Uuid> Statement::Id(int column) const noexcept {
  const auto bytes = Blob(column);
  if (bytes.size() != sizeof(Uuid)) return std::nullopt;
  Uuid id;
  std::memcpy(&id, bytes.data(), sizeof id);
  return id;
}

std::optional<Key> Statement::KeyAt(int column) const {
  if (IsInteger(column)) return Key(Integer(column));
  if (IsText(column)) {
    try {
      return Key(Text(column));
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
  }
  if (const auto id = Id(column)) return Key(*id);
  ObjectId object;
  const auto bytes = Blob(column);
  if (bytes.size() != object.bytes.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), object.bytes.begin());
  return Key(object);
}

}  // namespace doclock::sqlite
