/// A table of locks beside the table of documents in one SQLite file, as it is written by hand. A
/// waiter asks every 5 to 15 ms.

#include <sqlite3.h>

#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "worker.h"

namespace doclock::peers {
namespace {

constexpr const char* kTables =
    "PRAGMA journal_mode = WAL;"
    "CREATE TABLE IF NOT EXISTS documents (id INTEGER PRIMARY KEY, body TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS locks (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, until "
    "INTEGER);";

class Connection {
 public:
  explicit Connection(const std::string& path) {
    Check(::sqlite3_open(path.c_str(), &db_));
    Check(::sqlite3_busy_timeout(db_, 10'000));
    Execute("PRAGMA synchronous = FULL");
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    for (const auto& [text, statement] : statements_) ::sqlite3_finalize(statement);
    ::sqlite3_close(db_);
  }

  void Execute(const char* sql) { Check(::sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
  /// Runs a prepared statement; returns the rows that it changed.
  template <class... Values>
  int Run(const char* sql, const Values&... values) {
    sqlite3_stmt*& statement = statements_[sql];
    if (statement == nullptr) Check(::sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr));
    int place = 0;
    (Bind(statement, ++place, values), ...);
    int status = SQLITE_ROW;
    while (status == SQLITE_ROW) status = ::sqlite3_step(statement);
    ::sqlite3_reset(statement);
    if (status != SQLITE_DONE) Check(status);
    return ::sqlite3_changes(db_);
  }

 private:
  void Check(int status) {
    if (status != SQLITE_OK) throw std::runtime_error(::sqlite3_errmsg(db_));
  }
  void Bind(sqlite3_stmt* statement, int place, std::int64_t value) {
    Check(::sqlite3_bind_int64(statement, place, value));
  }
  void Bind(sqlite3_stmt* statement, int place, const std::string& value) {
    Check(::sqlite3_bind_text(statement, place, value.data(), static_cast<int>(value.size()),
                              SQLITE_TRANSIENT));
  }

  sqlite3* db_ = nullptr;
  std::unordered_map<std::string_view, sqlite3_stmt*> statements_;
};

class SqliteCaller final : public Caller {
 public:
  explicit SqliteCaller(const Place& place) : db_(place.url), ttl_(place.ttl.count()) {}

  bool Lock(int key, const std::stop_token& stop) override {
    const auto attempt = [&] {
      const std::int64_t now = UnixMilliseconds();
      return db_.Run(
                 "INSERT INTO locks VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE"
                 " SET owner = ?2, until = ?3 WHERE until <= ?4",
                 key, owner_, now + ttl_, now) == 1;
    };
    if (!Poll(stop, milliseconds(5), milliseconds(15), attempt)) return false;
    db_.Run("SELECT body FROM documents WHERE id = ?1", key);
    return true;
  }
  bool Unlock(int key) override {
    db_.Execute("BEGIN IMMEDIATE");
    db_.Run("UPDATE documents SET body = ?2 WHERE id = ?1", key, Text());
    const bool held = db_.Run("DELETE FROM locks WHERE id = ?1 AND owner = ?2", key, owner_) == 1;
    db_.Execute(held ? "COMMIT" : "ROLLBACK");
    return held;
  }
  bool Renew(int key) override {
    return db_.Run("UPDATE locks SET until = ?3 WHERE id = ?1 AND owner = ?2", key, owner_,
                   UnixMilliseconds() + ttl_) == 1;
  }

 private:
  Connection db_;
  const std::int64_t ttl_;
  const std::string owner_ = NewId();
};

class SqlitePeer final : public Peer {
 public:
  explicit SqlitePeer(Place place) : place_(std::move(place)) {}

  void Prepare(int keys) override {
    Connection db(place_.url);
    db.Execute(kTables);
    db.Execute("BEGIN IMMEDIATE");
    for (int key = 0; key < keys; ++key) {
      db.Run("INSERT INTO documents VALUES (?1, ?2)", key, Text());
    }
    db.Execute("COMMIT");
  }
  std::unique_ptr<Caller> NewCaller() override { return std::make_unique<SqliteCaller>(place_); }

 private:
  const Place place_;
};

}  // namespace
}  // namespace doclock::peers

int main(int argc, char** argv) {
  using namespace doclock::peers;
  return Work(argc, argv, [](const Place& place) { return std::make_unique<SqlitePeer>(place); });
}
