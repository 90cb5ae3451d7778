#pragma once

#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "compare.h"
#include "delayed_port.h"
#include "doclock/doclock.h"
#include "doclock/stores/postgresql.h"
#include "documents.h"

/// @file
/// PostgreSQL without this library: the floors.

namespace doclock::bench {

/// A connection whose statements are prepared. One that fails ends the program.
class RawPostgresql {
 public:
  explicit RawPostgresql(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
    PQsetNoticeProcessor(
        get(), [](void*, const char*) {}, nullptr);
  }
  [[nodiscard]] PGconn* get() const noexcept { return connection_.get(); }
  void Run(const std::string& sql) const { Check(PQexec(get(), sql.c_str())); }
  void Prepare(const char* name, const char* sql) const {
    Check(PQprepare(get(), name, sql, 0, nullptr));
  }
  void RunPrepared(const char* name, std::initializer_list<const char*> values) const {
    const std::vector<const char*> all(values);
    Check(
        PQexecPrepared(get(), name, static_cast<int>(all.size()), all.data(), nullptr, nullptr, 0));
  }

 private:
  void Check(PGresult* result) const {
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      std::fprintf(stderr, "%s", PQerrorMessage(get()));
      std::abort();
    }
    PQclear(result);
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

/// A schema of the benchmark's own, dropped at its end, on the server that DOCLOCK_BENCH_POSTGRESQL
/// names, as `scripts/postgresql.sh url` prints it. It opens no connection that a child could have.
class PostgresqlSchema {
 public:
  PostgresqlSchema() {
    RawPostgresql(url_).Run("CREATE SCHEMA " + name_ + "; CREATE TABLE " + name_ +
                            ".floor(key int8 PRIMARY KEY, lock text, body text)"
                            " WITH (fillfactor = 70)");
  }
  PostgresqlSchema(const PostgresqlSchema&) = delete;
  PostgresqlSchema& operator=(const PostgresqlSchema&) = delete;
  ~PostgresqlSchema() { RawPostgresql(url_).Run("DROP SCHEMA " + name_ + " CASCADE"); }
  [[nodiscard]] const std::string& url() const noexcept { return url_; }

 private:
  static std::string ServerUrl() {
    const char* const url = std::getenv("DOCLOCK_BENCH_POSTGRESQL");
    if (url != nullptr) return url;
    std::fprintf(stderr, "DOCLOCK_BENCH_POSTGRESQL names no server\n");
    std::abort();
  }
  static std::string NewName() {
    static std::atomic<int> count = 0;
    return "bench_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
  }

  const std::string name_ = NewName();
  const std::string url_ = ServerUrl() + "?options=-csearch_path%3D" + name_;
};

/// A server as if it were further away: its URL, and a port that passes on.
class FarPostgresql {
 public:
  FarPostgresql(std::string url, std::chrono::microseconds round_trip)
      : url_(std::move(url)),
        from_(url_.rfind(':') + 1),
        port_(std::stoi(url_.substr(from_)), round_trip) {
    url_.replace(from_, url_.find('/', from_) - from_, std::to_string(port_.port()));
  }
  [[nodiscard]] const std::string& url() const noexcept { return url_; }

 private:
  std::string url_;
  const std::size_t from_;
  const DelayedPort port_;
};

/// BEGIN; SELECT ... FOR UPDATE; UPDATE; COMMIT on one row, over a connection of its own.
class ForUpdateCycles {
 public:
  ForUpdateCycles(const std::string& url, int key) : raw_(url), key_(std::to_string(key)) {
    raw_.Run("INSERT INTO floor VALUES(" + key_ + ") ON CONFLICT DO NOTHING");
    raw_.Prepare("look", "SELECT lock, body FROM floor WHERE key = $1 FOR UPDATE");
    raw_.Prepare("write", "UPDATE floor SET lock = $2, body = $3 WHERE key = $1");
  }
  void Run() {
    raw_.Run("BEGIN");
    raw_.RunPrepared("look", {key_.c_str()});
    raw_.RunPrepared("write", {key_.c_str(), lock_.c_str(), text_.Next().c_str()});
    raw_.Run("COMMIT");
  }

 private:
  const RawPostgresql raw_;
  const std::string key_, lock_ = std::string(150, 'l');
  ChangingText text_;
};

/// Lock and release of one document.
class OurCycles {
 public:
  OurCycles(const LockingRepository<Saga>& repository, int key)
      : repository_(repository), key_(key) {}
  void Run() {
    auto held = repository_.Lock({key_, fresh_}, {.wait = 60s});
    held->attempts += 1;
    held.Release();
  }

 private:
  const LockingRepository<Saga>& repository_;
  const Key key_;
  const Saga fresh_ = SampleSaga(1);
};

}  // namespace doclock::bench
