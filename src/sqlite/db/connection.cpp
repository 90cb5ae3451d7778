#include "sqlite/db/connection.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "platform/plain_numbers.h"
#include "platform/standard_numbers.h"
#include "sqlite/db/database_error.h"

namespace doclock::sqlite {
namespace {

/// How many statements for filters are kept. They hold no rows, but users may make many filters.
constexpr std::size_t kMaxKeptTexts = 64;
/// Steps of SQLite's virtual machine between two checks of the clock.
constexpr int kStepsPerLook = 20'000;
/// The log is copied into the database once it has this many pages, as SQLite itself does it.
constexpr int kLongLog = 1000;
/// The page cache of each connection, in KiB: more than SQLite's own 2 MiB, because locks touch
/// pages at random.
constexpr int kCacheKib = 16 * 1024;

std::chrono::microseconds PauseAfter(int tries) {
  constexpr std::array<int, 6> kPauses = {100, 200, 500, 1000, 2000, 5000};
  const auto at = std::min<std::size_t>(static_cast<std::size_t>(tries), kPauses.size() - 1);
  return std::chrono::microseconds(kPauses[at]);
}

const char* NameOf(SqliteSync sync) {
  switch (sync) {
    case SqliteSync::kNormal:
      return "NORMAL";
    case SqliteSync::kOff:
      return "OFF";
    case SqliteSync::kFull:
      break;
  }
  return "FULL";
}

/// The program's default, unless that is one of SQLite's own which do not lock as the default of
/// other processes does ("unix-none", "unix-dotfile" ...).
const char* FileSystemToUse() noexcept {
  const sqlite3_vfs* const chosen = sqlite3_vfs_find(nullptr);
  return chosen != nullptr && std::strncmp(chosen->zName, "unix-", 5) == 0 ? "unix" : nullptr;
}

}  // namespace

void CheckVersion(int version) {
  constexpr int kOldest = 3'037'000;
  if (version >= kOldest) return;
  throw DatabaseError(SQLITE_MISUSE, "the program has loaded SQLite " +
                                         std::to_string(version / 1'000'000) + "." +
                                         std::to_string(version / 1'000 % 1'000) +
                                         "; the store needs 3.37 or newer");
}

void CheckLibrary() {
  // The shared library may be older than the header.
  CheckVersion(sqlite3_libversion_number());
  sqlite3* probe = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &probe, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, "unix");
  const bool opened = code == SQLITE_OK;
  const bool guarded = !opened || sqlite3_db_mutex(probe) != nullptr;
  const bool without_json =
      opened && sqlite3_exec(probe, "SELECT json('[]')", nullptr, nullptr, nullptr) == SQLITE_ERROR;
  sqlite3_close(probe);
  if (without_json) {
    throw DatabaseError(SQLITE_MISUSE,
                        "this SQLite is compiled without its functions for JSON (SQLITE_OMIT_JSON, "
                        "or before 3.38 without SQLITE_ENABLE_JSON1), which the store needs");
  }
  if (guarded) return;
  throw DatabaseError(SQLITE_MISUSE,
                      "SQLite is configured for a single thread in this process "
                      "(SQLITE_CONFIG_SINGLETHREAD), or compiled so (SQLITE_THREADSAFE=0); the "
                      "store uses several: configure it for more "
                      "(SQLITE_CONFIG_MULTITHREAD), or leave its default");
}

Connection::Connection(const std::filesystem::path& file, bool create) {
  // With a cache of its own, whatever the program's other connections share.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                    (create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(file.c_str(), &database_, flags, FileSystemToUse());
  if (code != SQLITE_OK) {
    const DatabaseError error =
        database_ != nullptr ? LastError(database_) : DatabaseError(code, "out of memory");
    sqlite3_close(database_);
    throw error;
  }
  sqlite3_extended_result_codes(database_, 1);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // The indexes call functions for JSON. The program may have turned it off for all connections.
  sqlite3_db_config(database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, nullptr);
  // A document's lock goes with it by a trigger.
  sqlite3_db_config(database_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nullptr);
  SetHandlers();
}

Connection::~Connection() {
  by_place_.clear();
  by_text_.clear();
  for_filters_.clear();
  // Joined work may have left a statement, which closes it later, and asks no handler of this.
  sqlite3_busy_handler(database_, nullptr, nullptr);
  sqlite3_progress_handler(database_, 0, nullptr, nullptr);
  sqlite3_wal_hook(database_, nullptr, nullptr);
  sqlite3_close_v2(database_);
}

void Connection::SetHandlers() noexcept {
  sqlite3_busy_handler(database_, &Connection::OnBusy, this);
  sqlite3_progress_handler(database_, kStepsPerLook, &Connection::OnProgress, this);
  sqlite3_wal_hook(database_, &Connection::OnCommit, this);
}

void Connection::Accept() noexcept {
  sqlite3_db_config(database_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

void Connection::SetDeadline(Deadline busy, Deadline work) noexcept {
  busy_deadline_ = busy;
  work_deadline_ = work;
}

int Connection::OnBusy(void* self, int tries) noexcept {
  const Deadline deadline = static_cast<Connection*>(self)->busy_deadline_;
  if (std::chrono::steady_clock::now() >= deadline) return 0;
  std::this_thread::sleep_for(PauseAfter(tries));
  return 1;
}

int Connection::OnProgress(void* self) noexcept {
  return std::chrono::steady_clock::now() >= static_cast<Connection*>(self)->work_deadline_ ? 1 : 0;
}

/// SQLite's own hook does the same, but drops the error of a flush.
int Connection::OnCommit(void* self, sqlite3* database, const char* name, int pages) noexcept {
  if (pages < kLongLog) return SQLITE_OK;
  const int code =
      sqlite3_wal_checkpoint_v2(database, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code == SQLITE_IOERR_FSYNC) static_cast<Connection*>(self)->has_failed_flush_ = true;
  return SQLITE_OK;  // the commit is done
}

void Connection::Run(const std::string& sql) {
  const platform::PlainNumbers plain;
  if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw LastError(database_);
  }
}

std::int64_t Connection::Ask(const std::string& sql) {
  const Running statement(Prepared(sql));
  return statement->Step() ? statement->Integer(0) : 0;
}

std::string Connection::AskText(const std::string& sql) {
  const Running statement(Prepared(sql));
  return statement->Step() ? std::string(statement->Text(0)) : std::string();
}

Statement& Connection::Prepared(const Sql& sql) {
  if (by_place_.size() <= sql.place) by_place_.resize(sql.place + 1);
  auto& statement = by_place_[sql.place];
  if (!statement) statement = std::make_unique<Statement>(database_, sql.text);
  return *statement;
}

Statement& Connection::PreparedIn(std::unordered_map<std::string, std::unique_ptr<Statement>>& kept,
                                  const std::string& sql) {
  const auto found = kept.find(sql);
  if (found != kept.end()) return *found->second;
  auto statement = std::make_unique<Statement>(database_, sql);
  return *kept.emplace(sql, std::move(statement)).first->second;
}

Statement& Connection::Prepared(const std::string& sql) { return PreparedIn(by_text_, sql); }

Statement& Connection::PreparedForFilter(const std::string& sql) {
  if (for_filters_.size() >= kMaxKeptTexts) for_filters_.clear();
  return PreparedIn(for_filters_, sql);
}

bool Connection::InTransaction() const noexcept { return sqlite3_get_autocommit(database_) == 0; }

std::int64_t Connection::LastRowId() const noexcept { return sqlite3_last_insert_rowid(database_); }

bool Connection::IsReadOnly() const noexcept { return sqlite3_db_readonly(database_, "main") == 1; }

bool Connection::HasMoved() const noexcept {
  int moved = 0;
  return sqlite3_file_control(database_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
         moved != 0;
}

std::unique_ptr<Connection> Connect(const std::filesystem::path& file,
                                    const SqliteStoreOptions& options, bool create) {
  // For the database, and for its log and index, which SQLite opens when it first reads.
  const platform::StandardNumbersTaken taken;
  auto connection = std::make_unique<Connection>(file, create);
  const Deadline deadline = DeadlineIn(options.busy_timeout.ms());
  connection->SetDeadline(deadline, Deadline::max());
  connection->Run(std::string("PRAGMA synchronous=") + NameOf(options.sync));
  connection->Run("PRAGMA cache_size=-" + std::to_string(kCacheKib));
  if (options.max_pages > 0) {
    connection->Run("PRAGMA max_page_count=" + std::to_string(options.max_pages));
  }
  return connection;
}

}  // namespace doclock::sqlite
