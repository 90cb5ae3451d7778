/// PostgreSQL: a transaction that selects the document's row FOR UPDATE, updates it and commits.

#include <libpq-fe.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "worker.h"

namespace doclock::peers {
namespace {

class PostgresCaller final : public Caller {
 public:
  explicit PostgresCaller(const std::string& url) : connection_(::PQconnectdb(url.c_str())) {
    if (::PQstatus(connection_.get()) != CONNECTION_OK) Fail();
    Check(::PQprepare(connection_.get(), "lock",
                      "SELECT body FROM documents WHERE id = $1 FOR UPDATE", 1, nullptr));
    Check(::PQprepare(connection_.get(), "store",
                      "UPDATE documents SET body = $2, version = version + 1 WHERE id = $1", 2,
                      nullptr));
  }

  bool Lock(int key, const std::stop_token& /*stop*/) override {
    if (held_++ == 0) Execute("BEGIN");
    const std::string id = std::to_string(key);
    const std::array<const char*, 1> values{id.c_str()};
    Check(::PQexecPrepared(connection_.get(), "lock", 1, values.data(), nullptr, nullptr, 0));
    return true;
  }
  bool Unlock(int key) override {
    const std::string id = std::to_string(key), text = Text();
    const std::array<const char*, 2> values{id.c_str(), text.c_str()};
    Check(::PQexecPrepared(connection_.get(), "store", 2, values.data(), nullptr, nullptr, 0));
    if (--held_ == 0) Execute("COMMIT");
    return true;
  }
  void Execute(const char* sql) { Check(::PQexec(connection_.get(), sql)); }

 private:
  [[noreturn]] void Fail() const { throw std::runtime_error(::PQerrorMessage(connection_.get())); }
  void Check(PGresult* result) const {
    const ExecStatusType status = ::PQresultStatus(result);
    ::PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) Fail();
  }

  struct Finish {
    void operator()(PGconn* connection) const { ::PQfinish(connection); }
  };
  const std::unique_ptr<PGconn, Finish> connection_;
  int held_ = 0;
};

class PostgresPeer final : public Peer {
 public:
  explicit PostgresPeer(Place place) : place_(std::move(place)) {}

  void Prepare(int keys) override {
    std::unique_ptr<PGconn, void (*)(PGconn*)> connection(::PQconnectdb(place_.url.c_str()),
                                                          ::PQfinish);
    const std::string sql =
        "CREATE TABLE documents (id int PRIMARY KEY, version bigint, body text);"
        "INSERT INTO documents SELECT id, 0, '" +
        Text() + "' FROM generate_series(0, " + std::to_string(keys - 1) + ") AS id";
    PGresult* const result = ::PQexec(connection.get(), sql.c_str());
    const bool done = ::PQresultStatus(result) == PGRES_COMMAND_OK;
    ::PQclear(result);
    if (!done) throw std::runtime_error(::PQerrorMessage(connection.get()));
  }
  std::unique_ptr<Caller> NewCaller() override {
    return std::make_unique<PostgresCaller>(place_.url);
  }

 private:
  const Place place_;
};

}  // namespace
}  // namespace doclock::peers

int main(int argc, char** argv) {
  using namespace doclock::peers;
  return Work(argc, argv, [](const Place& place) { return std::make_unique<PostgresPeer>(place); });
}
