// A server that takes TLS only, with certificates of a throw-away CA; and what is told of servers
// that cannot be reached: which, and why.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

#include "doclock/doclock.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/support/raw_server.h"
#include "process/child.h"
#include "process/local_port.h"

namespace doclock::mongo_test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Things = LockingRepository<nlohmann::json>;

const std::string kFiles = DOCLOCK_MONGODB_TLS_FILES "/";
constexpr const char* kUri = DOCLOCK_MONGODB_TLS_URI;

/// "host:port" of a URI of one server without a user.
std::string ServerIn(const std::string& uri) {
  const auto start = uri.find("//") + 2;
  return uri.substr(start, uri.find('/', start) - start);
}
std::string PortIn(const std::string& uri) {
  const std::string server = ServerIn(uri);
  return server.substr(server.find(':'));
}

/// The error of opening a store.
struct Opened {
  std::optional<Errc> code;
  std::string text;
};
/// The driver tries again every 0.5 s; on a busy machine the first tries may tell nothing.
Opened Opening(const std::string& uri, Duration timeout = 2000ms) {
  try {
    OpenMongodbStore(uri, {.server_selection_timeout = timeout});
  } catch (const StoreException& error) {
    return {error.errc(), error.what()};
  }
  return {};
}

void ExpectAway(const std::string& uri, const std::string& server, const std::string& cause,
                Errc code = Errc::kUnavailable) {
  SCOPED_TRACE(uri);
  Opened opened = Opening(uri);
  if (opened.text.find(cause) == std::string::npos) opened = Opening(uri, 20s);
  EXPECT_EQ(opened.code, code);
  EXPECT_THAT(opened.text, AllOf(HasSubstr(server), HasSubstr(cause), Not(HasSubstr("Canary"))));
}

/// Long before the time is up.
void ExpectRefusedAtOnce(const std::string& uri, const std::string& cause) {
  SCOPED_TRACE(uri);
  const auto start = std::chrono::steady_clock::now();
  const auto [code, text] = Opening(uri, 1min);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1min);
  EXPECT_EQ(code, Errc::kRefused);
  EXPECT_THAT(text, AllOf(HasSubstr(cause), Not(HasSubstr("Canary"))));
}

std::string Tls(const std::string& server, const std::string& ca) {
  return "mongodb://" + server + "/Canary?directConnection=true&tls=true&tlsCAFile=" + ca;
}

/// A server of openssl with a certificate of the folder and more options.
class OpensslServer {
 public:
  OpensslServer(const std::string& certificate, const std::string& options)
      : child_({}, {"sh", "-c",
                    "exec openssl s_server -rev -accept 127.0.0.1:0 -key " + kFiles + certificate +
                        ".key -cert " + kFiles + certificate + ".crt " + options + " 2>&1"}) {
    std::optional<std::string> line = child_.Line();
    while (line && !line->starts_with("ACCEPT ")) line = child_.Line();
    if (!line) throw std::runtime_error("openssl is no server");
    name_ = "localhost" + line->substr(line->rfind(':'));
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  test::Child child_;
  std::string name_;
};

TEST(MongodbTls, ServesAStore) {
  const Database database(kUri);
  LockManager manager(OpenMongodbStore(database.uri()));
  const Things things(manager, "things");
  auto lock = things.Lock({"a", nlohmann::json{{"n", 1}}});
  lock->at("n") = 2;
  lock.Release();
  EXPECT_EQ(things.Find("a").value()->at("n"), 2);
}

TEST(MongodbTls, ACertificateStandsForAUser) {
  Database database(kUri);
  const std::string x509 =
      database.uri() + "&authMechanism=MONGODB-X509&authSource=$external&tlsCertificateKeyFile=";
  const Opened unknown = Opening(x509 + kFiles + "client.pem");
  EXPECT_EQ(unknown.code, Errc::kRefused);
  EXPECT_THAT(unknown.text, HasSubstr("does not accept the credentials"));
  mongodb::Doc role;
  role.Add("role", "readWrite").Add("db", database.name());
  mongodb::Doc user;
  user.Add("createUser", "OU=clients,CN=client");
  user.Add("roles", mongodb::Array().Add(role));
  database.server().Run("$external", user);
  const auto store = OpenMongodbStore(x509 + kFiles + "client.pem");
  database.server().Run("$external", mongodb::Doc::Of("dropUser", "OU=clients,CN=client"));
  EXPECT_NE(store, nullptr);
}

TEST(MongodbTls, ACertificateThatIsNotTrustedIsTold) {
  const std::string server = ServerIn(kUri);
  ExpectAway(Tls(server, kFiles + "stranger.pem"), server, "certificate verify failed",
             Errc::kRefused);
  const std::string by_number = "127.0.0.1" + PortIn(kUri);
  ExpectAway(Tls(by_number, kFiles + "ca.pem"), by_number, "certificate verify failed",
             Errc::kRefused);
  const OpensslServer expired("expired", "");
  ExpectAway(Tls(expired.name(), kFiles + "ca.pem"), expired.name(), "certificate has expired",
             Errc::kRefused);
}

/// With TLS 1.3 the alert comes behind the handshake, where the driver does not tell it; mongod
/// sends none and hangs up.
TEST(MongodbTls, AServerThatWantsACertificateSaysSo) {
  const OpensslServer older("server", "-tls1_2 -Verify 1 -CAfile " + kFiles + "ca.pem");
  ExpectAway(Tls(older.name(), kFiles + "ca.pem"), older.name(), "alert handshake failure",
             Errc::kRefused);
  const OpensslServer newer("server", "-tls1_3 -Verify 1 -CAfile " + kFiles + "ca.pem");
  ExpectAway(Tls(newer.name(), kFiles + "ca.pem"), newer.name(), "may want a client certificate");
}

/// The network's failures look different from the alerts of a server.
TEST(MongodbTls, AHandshakeThatIsCutOffIsAnOutage) {
  const test::LocalServer cut([](int client) {
    char said = 0;
    static_cast<void>(::recv(client, &said, 1, 0));
  });
  const std::string server = "localhost" + cut.host().substr(cut.host().rfind(':'));
  ExpectAway(Tls(server, kFiles + "ca.pem"), server, "TLS handshake failed");
}

TEST(MongodbTls, AServerThatWantsItSaysSoToThoseWithout) {
  const std::string server = ServerIn(kUri);
  ExpectAway("mongodb://" + server + "/Canary?directConnection=true", server,
             "tls=true in the URI");
}

/// A file of this text in the folder of the certificates.
std::string FileWith(const std::string& name, const std::string& text) {
  std::ofstream(kFiles + name) << text;
  return kFiles + name;
}

std::string TextOf(const std::string& path) {
  std::ifstream stream(path);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

/// What stands between the lines of a certificate or a key, damaged.
std::string Damaged(const std::string& what) {
  return "-----BEGIN " + what + "-----\nQ2FuYXJ5\n-----END " + what + "-----\n";
}

TEST(MongodbTls, FilesThatCannotBeUsedAreRefusedAtOnceAndNotPrinted) {
  const std::string server = ServerIn(kUri);
  const std::string key_file = Tls(server, kFiles + "ca.pem") + "&tlsCertificateKeyFile=";
  ::testing::internal::CaptureStderr();
  for (const char* file : {"/nowhere/Canary.pem", "/dev/null", "/tmp"}) {
    ExpectRefusedAtOnce(Tls(server, file), "option tlsCAFile cannot be read");
    ExpectRefusedAtOnce(key_file + file + "&tlsCertificateKeyFilePassword=Canary",
                        "option tlsCertificateKeyFile cannot be read");
  }
  ExpectRefusedAtOnce(Tls(server, FileWith("empty.pem", "")), "option tlsCAFile holds no cert");
  ExpectRefusedAtOnce(Tls(server, kFiles + "ca.key"), "option tlsCAFile holds no certificate");
  ExpectRefusedAtOnce(key_file + kFiles + "client.key", "KeyFile holds no certificate");
  ExpectRefusedAtOnce(key_file + kFiles + "client.crt", "KeyFile holds no private key");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

/// OpenSSL would ask the terminal for the password, or standard input: without any deadline.
TEST(MongodbTls, AnEncryptedKeyNeedsAPassword) {
  const std::string in = "-in " + kFiles + "client.key -passout pass:Canary -out " + kFiles;
  const std::string pkcs8 = "openssl pkcs8 -topk8 " + in + "pkcs8.key";
  const std::string rsa = "openssl rsa -aes256 -traditional " + in + "rsa.key 2>/dev/null";
  ASSERT_EQ(std::system((pkcs8 + " && " + rsa).c_str()), 0);
  for (const std::string name : {"pkcs8", "rsa"}) {
    SCOPED_TRACE(name);
    const std::string encrypted =
        FileWith(name + ".pem", TextOf(kFiles + name + ".key") + TextOf(kFiles + "client.crt"));
    const std::string uri =
        Tls(ServerIn(kUri), kFiles + "ca.pem") + "&tlsCertificateKeyFile=" + encrypted;
    ExpectRefusedAtOnce(uri, "by the option tlsCertificateKeyFilePassword");
    EXPECT_NE(OpenMongodbStore(uri + "&tlsCertificateKeyFilePassword=Canary"), nullptr);
  }
}

/// Only OpenSSL finds these, and the driver prints a line.
TEST(MongodbTls, DamagedFilesAreRefusedAtOnce) {
  ::testing::internal::CaptureStderr();
  const std::string server = ServerIn(kUri);
  ExpectRefusedAtOnce(Tls(server, FileWith("damaged.pem", Damaged("CERTIFICATE"))), "TLS options");
  ExpectRefusedAtOnce(
      Tls(server, kFiles + "ca.pem") + "&tlsCertificateKeyFile=" +
          FileWith("key.pem", TextOf(kFiles + "client.crt") + Damaged("PRIVATE KEY")),
      "TLS options");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("Cannot "));
}

TEST(MongodbReach, AServerThatIsNotThereIsNamed) {
  ExpectAway("mongodb://user:Canary@127.0.0.1:1/shop", "127.0.0.1:1", "Failed to connect");
  ExpectAway("mongodb://user:Canary@nowhere.invalid:7/shop", "nowhere.invalid:7",
             "Failed to resolve");
  ExpectAway("mongodb://user:Canary@127.0.0.1:1,127.0.0.1:2/shop", "127.0.0.1:1, 127.0.0.1:2",
             "Failed to connect");
}

TEST(MongodbReach, OfAStrangerIsSaidWhatIsKnown) {
  struct Answer {
    std::string says;
    bool hangs_up;
    std::string told;
    Errc code = Errc::kUnavailable;
  };
  const std::string alert("\x15\x03\x01\x00\x02\x02\x46", 7);
  for (const Answer& one :
       {Answer{"", true, "hung up or said nothing: it may want TLS"},
        Answer{"", false, "or be no MongoDB"},
        Answer{"SSH-2.0-OpenSSH_9.2\r\n", true, "speaks another protocol", Errc::kRefused},
        Answer{"HTTP/1.1 400 Bad Request\r\n\r\n", true, "another protocol", Errc::kRefused},
        Answer{alert, true, "needs tls=true", Errc::kRefused}}) {
    SCOPED_TRACE(one.says);
    const test::LocalServer stranger([&](int client) {
      char said = 0;
      static_cast<void>(::recv(client, &said, 1, 0));
      static_cast<void>(::send(client, one.says.data(), one.says.size(), MSG_NOSIGNAL));
      while (!one.hangs_up && ::recv(client, &said, 1, 0) > 0) continue;
    });
    ExpectAway("mongodb://user:Canary@" + stranger.host() + "/shop?connectTimeoutMS=1000",
               stranger.host(), one.told, one.code);
    if (one.says.empty()) continue;
    const Opened opened = Opening("mongodb://" + stranger.host() + "/shop");
    EXPECT_THAT(opened.text, Not(HasSubstr("may want TLS")));
  }
}

TEST(MongodbReach, AnotherSetIsRefusedAtOnce) {
  std::string uri = WithDatabase(SetUri(), "shop");
  uri.replace(uri.find("replicaSet=doclock"), 18, "replicaSet=Canary");
  ExpectRefusedAtOnce(uri, "is in the replica set 'doclock'");
  std::string alone = WithDatabase(StandaloneUri(), "shop");
  alone.replace(alone.find("directConnection=true"), 21, "replicaSet=Canary");
  ExpectRefusedAtOnce(alone, "is in no replica set");
}

}  // namespace
}  // namespace doclock::mongo_test
