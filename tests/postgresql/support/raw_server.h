#pragma once

#include <libpq-fe.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "doclock/document.h"
#include "doclock/json/uuid.h"

namespace doclock::postgresql_test {

/// The URL of the tests' server: $DOCLOCK_TEST_POSTGRESQL, or that of the build tree's fixture.
inline std::string ServerUrl() {
  const char* const given = std::getenv("DOCLOCK_TEST_POSTGRESQL");
  return given != nullptr ? given : DOCLOCK_POSTGRESQL_URL;
}

/// A connection beside the stores. Its functions fail the test by an exception.
class RawServer {
 public:
  explicit RawServer(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) Throw();
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
  }
  /// Runs SQL, and returns the first value of the last statement; empty if there is none.
  std::string Run(const std::string& sql) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        PQexec(connection_.get(), sql.c_str()), PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) Throw();
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
  }
  /// A text as SQL.
  std::string Quote(const std::string& text) {
    const std::unique_ptr<char, void (*)(void*)> quoted(
        PQescapeLiteral(connection_.get(), text.data(), text.size()), PQfreemem);
    return quoted.get();
  }

 private:
  [[noreturn]] void Throw() { throw std::runtime_error(PQerrorMessage(connection_.get())); }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

/// A schema of its own, dropped at the end. (A database takes the server much longer.)
class Schema {
 public:
  explicit Schema(std::string server_url = ServerUrl()) : server_url_(std::move(server_url)) {
    raw_.Run("CREATE SCHEMA " + name_);
  }
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;
  ~Schema() {
    try {
      raw_.Run("SET client_min_messages = warning; DROP SCHEMA " + name_ + " CASCADE");
    } catch (const std::exception& error) {
      std::cerr << "[figures] the tests' schema " << name_ << " stays: " << error.what();
    }
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& url() const { return url_; }
  RawServer& raw() { return raw_; }

 private:
  static std::string NewName() {
    std::string name = "test_" + ToText(NewUuid());
    for (char& c : name) c = c == '-' ? '_' : c;
    return name;
  }

  const std::string server_url_, name_ = NewName();
  const std::string url_ = server_url_ + "?options=-csearch_path%3D" + name_;
  RawServer raw_{url_};
};

}  // namespace doclock::postgresql_test
