#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "doclock/stores/sqlite.h"
#include "sqlite/db/deadline.h"
#include "sqlite/db/statement.h"

struct sqlite3;

namespace doclock::sqlite {

/// The text of a statement, and its place among those of the store that are prepared once.
struct Sql {
  std::size_t place = 0;
  std::string text;
};

/// One connection with its prepared statements. Used by one thread at a time.
class Connection {
 public:
  /// Until Accept is called, closing it leaves the log alone.
  /// @param create create the file if it is missing.
  /// @throws DatabaseError
  Connection(const std::filesystem::path& file, bool create);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Sets how long the following calls wait for other connections, and how long they may run.
  void SetDeadline(Deadline busy, Deadline work) noexcept;

  /// Confirms that these are the right files: from now on the last connection to close may write
  /// the log into the database and delete it. SQLite would also write it into a database that
  /// replaced the right one.
  void Accept() noexcept;

  /// Runs statements that return no rows. @throws DatabaseError
  void Run(const std::string& sql);
  /// Runs a statement with these values, which changes one row.
  template <class... Values>
  void Run(const Sql& sql, const Values&... values) {
    const Running statement(Prepared(sql));
    int index = 0;
    (statement->Bind(++index, values), ...);
    statement->ChangeOne();
  }
  /// The first column of the first row as an integer. @throws DatabaseError
  std::int64_t Ask(const std::string& sql);
  /// The pragma's value as text.
  std::string AskText(const std::string& sql);

  Statement& Prepared(const Sql& sql);
  /// A statement with a constant text, prepared once.
  Statement& Prepared(const std::string& sql);
  /// A statement for a filter. Only a limited number is kept, so at most one may be in use.
  Statement& PreparedForFilter(const std::string& sql);

  [[nodiscard]] bool InTransaction() const noexcept;
  /// The id of the row that the last INSERT made.
  [[nodiscard]] std::int64_t LastRowId() const noexcept;
  /// Could the file only be opened for reading?
  [[nodiscard]] bool IsReadOnly() const noexcept;
  /// Does the file's name lead to another file than the open one, or to none?
  [[nodiscard]] bool HasMoved() const noexcept;
  [[nodiscard]] sqlite3* handle() const noexcept { return database_; }
  /// Whether a flush has failed as the log was copied into the database, behind a commit.
  [[nodiscard]] bool has_failed_flush() const noexcept { return has_failed_flush_; }
  /// Sets what keeps the deadlines and copies the log, which joined work may have replaced.
  void SetHandlers() noexcept;

 private:
  Statement& PreparedIn(std::unordered_map<std::string, std::unique_ptr<Statement>>& kept,
                        const std::string& sql);
  static int OnBusy(void* self, int tries) noexcept;
  static int OnProgress(void* self) noexcept;
  static int OnCommit(void* self, sqlite3* database, const char* name, int pages) noexcept;

  sqlite3* database_ = nullptr;
  Deadline busy_deadline_{};
  Deadline work_deadline_{};
  bool has_failed_flush_ = false;
  std::vector<std::unique_ptr<Statement>> by_place_;
  std::unordered_map<std::string, std::unique_ptr<Statement>> by_text_;
  std::unordered_map<std::string, std::unique_ptr<Statement>> for_filters_;
};

/// Refuses a SQLite that is older than 3.37: a number as sqlite3_libversion_number() returns it.
/// @throws DatabaseError SQLITE_MISUSE
void CheckVersion(int version);
/// Refuses the SQLite of this process if it is too old, has no functions for JSON, or serves one
/// thread only. @throws DatabaseError SQLITE_MISUSE
void CheckLibrary();

/// Opens a connection with the settings of `options`, except those that change the file.
std::unique_ptr<Connection> Connect(const std::filesystem::path& file,
                                    const SqliteStoreOptions& options, bool create);

}  // namespace doclock::sqlite
