// What a server or a pooler refuses: for as long as it is not changed, or for now.

#include <gmock/gmock.h>

#include <chrono>
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>
#include <string>
#include <utility>

#include "doclock/errors.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/support/fake_server.h"
#include "postgresql/support/raw_server.h"
#include "postgresql/support/variable.h"

/// LeakSanitizer's; null without it.
extern "C" [[gnu::weak]] void __lsan_disable();
extern "C" [[gnu::weak]] void __lsan_enable();

namespace doclock::postgresql_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What opening a store says.
struct Said {
  Errc errc;
  std::string text;
};
Said Open(const std::string& url) {
  try {
    OpenPostgresqlStore(url);
  } catch (const StoreException& error) {
    return {error.errc(), error.what()};
  }
  ADD_FAILURE() << "it was opened";
  return {};
}

struct Refused {
  const char* state;
  const char* message;
  bool lasts;
};

constexpr Refused kAll[] = {
    // PostgreSQL
    {"3D000", "database \"orders\" does not exist", true},
    {"28000", "role \"me\" does not exist", true},
    {"28P01", "password authentication failed for user \"me\"", true},
    {"42501", "permission denied for database \"orders\"", true},
    {"42704", "unrecognized configuration parameter \"x\"", true},
    {"55000", "database \"orders\" is not currently accepting connections", true},
    {"57P03", "the database system is not accepting connections", true},
    {"58P01", "could not open file \"base/1/PG_VERSION\"", true},
    {"0A000", "unsupported frontend protocol", true},
    {"57P03", "the database system is starting up", false},
    {"57P03", "the database system is shutting down", false},
    {"57P03", "the database system is not yet accepting connections", false},
    {"53300", "sorry, too many clients already", false},
    {"58030", "could not read file", false},
    {"53400", "temporary file size exceeds temp_file_limit (1kB)", true},
    // pgbouncer
    {"08P01", "no such database: orders", true},
    {"3D000", "no such database: orders", true},
    {"08P01", "database \"orders\" is disabled", true},
    {"08P01", "no such user: me", true},
    {"08P01", "no such user", true},
    {"08P01", "password authentication failed", true},
    {"08P01", "SASL authentication failed", true},
    {"08P01", "login rejected", true},
    {"08P01", "bouncer config error", true},
    {"08P01", "SSL required", true},
    {"08P01", "server login failed: wrong password type", true},
    {"08P01", "empty password returned by client", true},
    {"08P01", "no authentication method is found", true},
    {"08P01", "ldap is not supported by this build", true},
    {"08P01", "server login has been failing, cached error: server refused SSL", true},
    {"08P01", "none of the server's SASL authentication mechanisms are supported", true},
    {"08P01", "unsupported startup parameter: options", true},
    {"08P01", "unsupported startup parameter in options: search_path", true},
    {"08P01", "transaction blocks not allowed in statement pooling mode", true},
    {"08P01", "server login failed: FATAL password authentication failed for user", true},
    {"08P01",
     "server login has been failing, cached error: FATAL: database \"orders\" does not exist "
     "(server_login_retry)",
     true},
    {"08P01", "server login has been failing, cached error: connect failed (server_login_retry)",
     false},
    {"08P01", "server login has been failing, try again later (server_login_retry)", false},
    {"08P01", "no more connections allowed (max_client_conn)", false},
    {"08P01", "client connections exceeded (max_db_client_connections)", false},
    {"08P01", "client_login_timeout (server down)", false},
    {"08P01", "query_wait_timeout", false},
    {"08P01", "pooler is shutting down", false},
    {"08P01", "bouncer resources exhaustion", false},
    {"57P01", "server shutting down", false},
    // PgCat, Odyssey, Pgpool-II, and services
    {"58000", "No pool configured for database: \"orders\", user: \"me\"", true},
    {"58000", "could not get connection from the pool", false},
    {"08P01", "odyssey: c1: route for 'orders.me' is not found", true},
    {"53300", "odyssey: c1: too many tcp connections (global limit 1)", false},
    {"28000", "no pool_hba.conf entry for host \"::1\"", true},
    {"57000", "all backend nodes are down, pgpool requires at least one valid node", false},
    {"XX000", "Tenant or user not found", true},
    {"XX000", "tenant/user x.y not found", true},
    {"XX000", "no tenant identifier provided (external_id or sni_hostname required)", true},
    {"XX000", "address not in tenant allow_list: {127, 0, 0, 1}", true},
    {"XX000", "tenant is banned", true},
    {"XX000", "SSL connection is required for user", true},
    {"0A000", "Feature not supported: RDS Proxy takes no command-line options", true},
};

TEST(PostgresqlRefusals, LastOrPassAndAreQuoted) {
  for (const Refused& one : kAll) {
    SCOPED_TRACE(std::string(one.state) + " " + one.message);
    for (const bool at_login : {true, false}) {
      const std::string error = ErrorMessage("FATAL", one.state, one.message);
      const FakeServer server(at_login ? error : "", [&] { return error; });
      const Said said = Open(server.url());
      EXPECT_EQ(said.errc, one.lasts ? Errc::kRefused : Errc::kUnavailable);
      EXPECT_THAT(said.text, HasSubstr(one.message));
      EXPECT_THAT(said.text, Not(HasSubstr("secret")));
    }
  }
}

/// An answer of libpq's own, without a server.
TEST(PostgresqlRefusals, OfLibpqAreNamedWhateverTheLanguage) {
  const std::string socket(120, 'x');
  const std::pair<std::string, const char*> all[] = {
      {"?host=a,b&port=1,2,3", "not the same number"},
      {"?host=a,b&hostaddr=127.0.0.1", "not the same number"},
      {"?host=/" + socket, "path of the socket"},
      {"?host=127.0.0.1&port=99999x", "the value of an option"},
      {"?service=nonesuch", "the value of an option"}};
  const Variable language("LANGUAGE", "de");
  std::setlocale(LC_ALL, "C.UTF-8");
  for (const auto& [options, reason] : all) {
    const Said said = Open("postgresql://me:secret@/orders" + options);
    EXPECT_EQ(said.errc, Errc::kRefused) << options;
    EXPECT_THAT(said.text, HasSubstr(reason));
  }
  std::setlocale(LC_ALL, "C");
}

/// Without one libpq would ask for it at the terminal, and read standard input.
TEST(PostgresqlRefusals, OfAKeyWhosePasswordIsMissing) {
  const std::string folder = ::testing::TempDir() + "doclock_" + ToText(NewUuid());
  std::filesystem::create_directory(folder);
  const std::string make = "cd " + folder +
                           " && openssl req -x509 -newkey rsa:2048 -days 1 -subj /CN=me -keyout k"
                           " -out c -passout pass:secret > /dev/null 2>&1 && chmod 600 k";
  ASSERT_EQ(std::system(make.c_str()), 0);
  const test::LocalServer server([](int client) {  // it has TLS, it says
    char byte = 0;
    while (::read(client, &byte, 1) > 0) {
      if (::send(client, "S", 1, MSG_NOSIGNAL) < 0) return;
    }
  });
  const Said said = Open("postgresql://me@" + server.host() +
                         "/orders?sslmode=require&gssencmode=disable&sslcert=" + folder +
                         "/c&sslkey=" + folder + "/k");
  EXPECT_EQ(said.errc, Errc::kRefused);
  EXPECT_THAT(said.text, HasSubstr("sslpassword"));
  std::filesystem::remove_all(folder);
}

/// libpq prints why it passes over a password file.
TEST(PostgresqlRefusals, OfAPasswordFileAreToldByTheException) {
  const std::string path = ::testing::TempDir() + "doclock_" + ToText(NewUuid());
  std::ofstream(path) << "*:*:*:*:secret\n";
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  const FakeServer server(Message('R', BigEndian(3, 4)), [] { return ""; });  // "your password?"
  std::string url = server.url();
  url.replace(url.find(":secret"), 7, "");
  for (const std::string& file : {path, std::string("/dev/null")}) {
    const Variable password("PGPASSFILE", file);
    const Said said = Open(url);
    EXPECT_EQ(said.errc, Errc::kRefused);
    EXPECT_THAT(said.text, HasSubstr("plain file that others cannot read"));
  }
  std::filesystem::remove(path);
}

/// What is changed at a server while a program runs is no outage either.
TEST(PostgresqlStoreRefusals, AreNamedAfterTheFirstConnectionToo) {
  Schema schema;
  const std::string name = schema.raw().Run("SELECT current_schema()"), role = "role_of_" + name;
  schema.raw().Run("CREATE ROLE " + role + " LOGIN; GRANT ALL ON SCHEMA " + name + " TO " + role);
  const auto store = OpenPostgresqlStore(schema.url() + "&user=" + role);
  const auto things = store->Open("things", {}, std::chrono::seconds(1));
  schema.raw().Run("ALTER ROLE " + role + " NOLOGIN");
  schema.raw().Run(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '" + role +
      "'");
  const Key key("1");
  ReadOp read(*things, key);
  StoreOp* one = &read;
  for (int i = 0; i < 2; ++i) store->Execute({&one, 1}, std::chrono::seconds(2));
  EXPECT_EQ(read.status, OpStatus::kFailed);
  EXPECT_EQ(read.detail->code, Errc::kRefused) << read.detail->message;
  schema.raw().Run("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

TEST(PostgresqlStoreRefusals, OfATableThatHidesRows) {
  Schema schema;
  const std::string name = schema.raw().Run("SELECT current_schema()"), role = "role_of_" + name;
  OpenPostgresqlStore(schema.url())->Open("things", {}, std::chrono::seconds(1));
  schema.raw().Run("CREATE ROLE " + role + " LOGIN; GRANT USAGE ON SCHEMA " + name + " TO " + role +
                   "; GRANT ALL ON ALL TABLES IN SCHEMA " + name + " TO " + role +
                   "; ALTER TABLE doclock_c_things ENABLE ROW LEVEL SECURITY");
  const auto store = OpenPostgresqlStore(schema.url() + "&user=" + role);
  try {
    store->Open("things", {}, std::chrono::seconds(1));
    ADD_FAILURE() << "it was opened";
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
    EXPECT_THAT(error.what(), HasSubstr("row security"));
  }
  schema.raw().Run("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

/// One that says anything, in the protocol's form, to what it is asked.
class Babbler {
 public:
  explicit Babbler(unsigned seed) : random_(seed) {}
  std::string Say() {
    const std::lock_guard guard(mutex_);
    std::string said;
    for (std::size_t i = 0, count = Below(12); i < count; ++i) said += Any();
    return said + Message('Z', Below(4) == 0 ? "T" : "I");
  }

 private:
  std::size_t Below(std::size_t most) { return random_() % most; }
  std::string Any() {
    constexpr std::int64_t kTypes[] = {20, 23, 21, 16, 25, 19, 1184, 2950, 3802, 701};
    switch (Below(8)) {
      case 0:
        return Message('1', "");
      case 1:
        return Message('2', "");
      case 2:
        return Message('n', "");
      case 3:
      case 4: {
        columns_ = Below(4);
        std::string body = BigEndian(static_cast<std::int64_t>(columns_), 2);
        for (std::size_t i = 0; i < columns_; ++i) {
          body += std::string("c\0", 2) + BigEndian(0, 6) + BigEndian(kTypes[Below(10)], 4);
          body += BigEndian(Below(2) == 0 ? -1 : 8, 2) + BigEndian(-1, 4) + BigEndian(Below(2), 2);
        }
        return Message('T', body);
      }
      case 5: {
        std::string body = BigEndian(static_cast<std::int64_t>(columns_), 2);
        for (std::size_t i = 0; i < columns_; ++i) {
          const std::size_t size = Below(18);
          body += BigEndian(size == 17 ? -1 : static_cast<std::int64_t>(size), 4);
          if (size != 17) body += std::string(size, static_cast<char>(Below(256)));
        }
        return Message('D', body);
      }
      case 6:
        return Message('C', std::string("SELECT 1\0", 9));
      default:
        return Below(3) == 0 ? ErrorMessage("ERROR", "XX000", "any") : Message('I', "");
    }
  }

  std::mutex mutex_;
  std::minstd_rand random_;
  std::size_t columns_ = 0;
};

TEST(PostgresqlRefusals, OfAnswersThatFitNothingEndTheCall) {
  // libpq 15 loses what it began to read when a second description of rows comes.
  if (__lsan_disable != nullptr) __lsan_disable();
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Babbler babbler(seed);
    const FakeServer server("", [&] { return babbler.Say(); });
    EXPECT_THAT(Open(server.url()).text, HasSubstr("doclock: PostgreSQL"));
  }
  if (__lsan_enable != nullptr) __lsan_enable();
}

}  // namespace
}  // namespace doclock::postgresql_test
