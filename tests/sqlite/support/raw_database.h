#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace doclock::sqlite_test {

/// The file as any program sees it that knows nothing of this library.
class RawDatabase {
 public:
  explicit RawDatabase(const std::filesystem::path& file) {
    if (sqlite3_open(file.c_str(), &database_) != SQLITE_OK) {
      sqlite3_close(database_);
      throw std::runtime_error("cannot open the database");
    }
    sqlite3_busy_timeout(database_, 10'000);
  }
  RawDatabase(const RawDatabase&) = delete;
  RawDatabase& operator=(const RawDatabase&) = delete;
  ~RawDatabase() { sqlite3_close(database_); }

  void Run(const std::string& sql) {
    char* text = nullptr;
    if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, &text) == SQLITE_OK) return;
    const std::string error = text != nullptr ? text : "error";
    sqlite3_free(text);
    throw std::runtime_error(error);
  }
  /// The first column of the first row.
  std::string Text(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(database_));
    }
    std::string text;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const auto* column = sqlite3_column_text(statement, sqlite3_column_count(statement) - 1);
      text += column != nullptr ? reinterpret_cast<const char*>(column) : "null";
    }
    sqlite3_finalize(statement);
    return text;
  }
  std::int64_t Number(const std::string& sql) { return std::stoll(Text(sql)); }

 private:
  sqlite3* database_ = nullptr;
};

}  // namespace doclock::sqlite_test
