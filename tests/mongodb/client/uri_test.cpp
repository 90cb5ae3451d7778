/// Allowed URIs, and that no text repeats a URI.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <mutex>

#include "doclock/errors.h"
#include "doclock/open_store.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/client/uri.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_docs_test {
namespace {

constexpr const char* kCanary = "Canary-7c1f";

mongodb::UriPtr ParseWith(const std::string& text, bool insecure = false) {
  MongodbStoreOptions options;
  options.allow_insecure_tls = insecure;
  return mongodb::ParseUri(text, options);
}

/// The text of the refusal; empty if there is none.
std::string RefusalOf(const std::string& uri) {
  try {
    ParseWith(uri);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

/// What the driver would have printed meanwhile.
class DriverLog {
 public:
  DriverLog() { mongoc_log_set_handler(&DriverLog::Add, this); }
  DriverLog(const DriverLog&) = delete;
  DriverLog& operator=(const DriverLog&) = delete;
  ~DriverLog() { mongoc_log_set_handler(&mongoc_log_default_handler, nullptr); }
  [[nodiscard]] std::string text() const {
    const std::lock_guard guard(mutex_);
    return text_;
  }

 private:
  static void Add(mongoc_log_level_t, const char*, const char* line, void* self) {
    auto* const log = static_cast<DriverLog*>(self);
    const std::lock_guard guard(log->mutex_);
    log->text_ += line;
  }
  mutable std::mutex mutex_;
  std::string text_;
};

TEST(MongodbUri, MayNameManyHostsSrvAndEveryOptionOfTheDriver) {
  for (const char* uri :
       {"mongodb://localhost/shop", "mongodb://a:1,b:2,[::1]:3/shop?replicaSet=rs0",
        "mongodb+srv://cluster.example.org/shop?tls=true&authSource=admin",
        "mongodb://user:p%40ss@host/shop?authMechanism=SCRAM-SHA-256&authSource=admin",
        "mongodb://CN%3Dme@host/shop?authMechanism=MONGODB-X509&authSource=$external&tls=true"
        "&tlsCertificateKeyFile=/keys/me.pem&tlsCertificateKeyFilePassword=x&tlsCAFile=/ca.pem",
        "mongodb://host/shop?ssl=true&socketTimeoutMS=500&maxPoolSize=7&compressors=zlib",
        "mongodb://host/shop?readPreferenceTags=a:b&readPreferenceTags=c:d&readPreference=nearest",
        "mongodb://host/shop?tlsInsecure=false", "mongodb://host/shop?directConnection=true"}) {
    EXPECT_EQ(RefusalOf(uri), "") << uri;
  }
}

TEST(MongodbUri, PassesTlsAndCredentialsToTheDriver) {
  const mongodb::UriPtr uri = ParseWith(
      "mongodb://user:p%40ss@host/shop?tls=true&tlsCAFile=/ca.pem&authSource=admin"
      "&authMechanism=SCRAM-SHA-256&appName=orders");
  EXPECT_TRUE(mongoc_uri_get_tls(uri.get()));
  EXPECT_STREQ(mongoc_uri_get_option_as_utf8(uri.get(), MONGOC_URI_TLSCAFILE, ""), "/ca.pem");
  EXPECT_STREQ(mongoc_uri_get_username(uri.get()), "user");
  EXPECT_STREQ(mongoc_uri_get_password(uri.get()), "p@ss");
  EXPECT_STREQ(mongoc_uri_get_auth_source(uri.get()), "admin");
  EXPECT_STREQ(mongoc_uri_get_auth_mechanism(uri.get()), "SCRAM-SHA-256");
}

TEST(MongodbUri, NamesTheOptionThatIsBad) {
  const std::pair<const char*, const char*> cases[] = {
      {"replicaset", "has no value"}, {"replicaSett=rs0", "not known"},
      {"tls=yes", "true or false"},   {"socketTimeoutMS=1s", "whole number"},
      {"w=1&w=2", "twice"},           {"compressors=zlib,lzma", "list of"},
      {"tls=true&ssl=", "no value"},  {"readPreferenceTags=a:b,c", "list of NAME:VALUE"}};
  for (const auto& [option, reason] : cases) {
    const std::string text = RefusalOf(std::string("mongodb://host/shop?") + option);
    EXPECT_NE(text.find(reason), text.npos) << option << ": " << text;
    const std::string last = std::string(option).substr(std::string(option).find('&') + 1);
    EXPECT_NE(text.find(last.substr(0, last.find('='))), text.npos) << option << ": " << text;
  }
}

TEST(MongodbUri, NamesWhatToWriteForARetiredOption) {
  const std::pair<const char*, const char*> cases[] = {
      {"minPoolSize=5", "minPoolSize has no effect: leave it out"},
      {"maxIdleTimeMS=5", "maxIdleTimeMS has no effect"},
      {"waitQueueMultiple=5", "waitQueueMultiple has no effect"},
      {"gssapiServiceName=a", "write authMechanismProperties=SERVICE_NAME:NAME"},
      {"canonicalizeHostname=true", "write authMechanismProperties=CANONICALIZE_HOST_NAME:true"}};
  for (const auto& [option, reason] : cases) {
    EXPECT_THAT(RefusalOf(std::string("mongodb://host/shop?") + option),
                ::testing::HasSubstr(reason));
  }
}

/// Each number of an option is refused, or taken without a line of the driver.
TEST(MongodbUri, NoNumberMakesTheDriverPrint) {
  int accepted = 0;
  for (const char* option :
       {"connectTimeoutMS", "heartbeatFrequencyMS", "localThresholdMS", "maxPoolSize",
        "maxStalenessSeconds", "serverSelectionTimeoutMS", "socketCheckIntervalMS",
        "socketTimeoutMS", "srvMaxHosts", "w", "waitQueueTimeoutMS", "wtimeoutMS",
        "zlibCompressionLevel", "minPoolSize"}) {
    for (const char* value : {"-2147483648", "-5", "-1", "0", "1", "89", "90", "2147483647"}) {
      const std::string text =
          std::string("mongodb://127.0.0.1:1/shop?readPreference=nearest&") + option + '=' + value;
      if (!RefusalOf(text).empty()) continue;
      const DriverLog log;
      ++accepted;
      mongoc_client_pool_destroy(mongoc_client_pool_new(ParseWith(text).get()));
      EXPECT_EQ(log.text(), "") << text;
    }
  }
  EXPECT_GT(accepted, 50);
  EXPECT_NE(RefusalOf("mongodb://h/x?localThresholdMS=-1").find("must be at least 0"), -1UL);
  EXPECT_NE(RefusalOf("mongodb://h/x?maxStalenessSeconds=-5").find("-1, or at least 90"), -1UL);
}

TEST(MongodbUri, SaysWhatTheDriverRefuses) {
  const std::pair<const char*, const char*> cases[] = {
      {"host/shop?heartbeatFrequencyMS=1", "heartbeatFrequencyMS must be at least 500"},
      {"host/shop?maxStalenessSeconds=90", "maxStalenessSeconds and readPreferenceTags need"},
      {"a,b/shop?loadBalanced=true", "loadBalanced allows one host only"},
      {"a/shop?loadBalanced=true&replicaSet=rs0", "loadBalanced allows"},
      {"a,b/shop?directConnection=true", "directConnection allows one host only"},
      {"host/shop?socketTimeoutMS=99999999999", "whole number of at most 2147483647"},
      {"host/shop?zlibCompressionLevel=99", "zlibCompressionLevel must be"},
      {"host/shop?readPreference=Canary-7c1f", "readPreference must be"},
      {"host/shop?w=-5", "option w must be"},
      {"host/shop?authMechanism=PLAIN", "authMechanism needs a user"},
      {"host/shop?srvMaxHosts=1", "its option srvmaxhosts"},
      {"u:%00@host/shop", "holds '%00'"},
      {"u:Canary-7c1f%FF@host/shop", "not UTF-8"},
      {"host/shop?appName=%ZZCanary-7c1f", "holds '%' without two"}};
  for (const auto& [uri, reason] : cases) {
    const std::string text = RefusalOf(std::string("mongodb://") + uri);
    EXPECT_NE(text.find(reason), text.npos) << uri << ": " << text;
    EXPECT_EQ(text.find(kCanary), text.npos) << text;
  }
}

TEST(MongodbUri, RefusesWhatTurnsOffCertificatesUnlessTheOptionIsSet) {
  for (const char* option :
       {"tlsInsecure", "tlsAllowInvalidCertificates", "TLSALLOWINVALIDHOSTNAMES",
        "sslAllowInvalidCertificates", "sslAllowInvalidHostnames"}) {
    const std::string uri = std::string("mongodb://host/shop?tls=true&") + option + "=true";
    const std::string text = RefusalOf(uri);
    EXPECT_NE(text.find(option), text.npos);
    EXPECT_NE(text.find("allow_insecure_tls"), text.npos);
    EXPECT_NO_THROW(ParseWith(uri, true));
  }
}

TEST(MongodbUri, NamesThePlaceThatIsBad) {
  const std::pair<const char*, const char*> cases[] = {
      {"h:99999/x", "'s port must be"},
      {"h:0/x", "'s port must be"},
      {"h:/x", "'s port must be"},
      {"a:1,b:Canary/x", "'s port must be"},
      {"user:Canary/x", "'s port must be"},
      {"[::1]:x/x", "'s port must be"},
      {"[::1/x", "brackets elsewhere"},
      {"a,[:Canary/x", "brackets elsewhere"},
      {"[::1]Canary/x", "brackets elsewhere"},
      {"Canary]a/x", "brackets elsewhere"},
      {R"(Canary\/x)", "a server with a character"},
      {"a,Can\x01ary/x", "a server with a character"},
      {"/x", "names no host"},
      {"user:Canary@/x", "names no host"},
      {"a,,b/x", "a server without a host"},
      {"a,/x", "a server without a host"},
      {":7/x", "a server without a host"},
      {"h/x.Canary", "name of a database"},
      {"h/x%2eCanary", "name of a database"},
      {"h/x Canary?tls=true", "name of a database"}};
  const DriverLog log;
  for (const auto& [rest, reason] : cases) {
    const std::string text = RefusalOf(std::string("mongodb://") + rest);
    EXPECT_NE(text.find(reason), text.npos) << rest << ": " << text;
    EXPECT_EQ(text.find("Canary"), text.npos) << text;
    EXPECT_EQ(log.text(), "") << rest;
  }
  EXPECT_NE(RefusalOf("mongodb+srv://a.b.c:7/x").find("port"), std::string::npos);
  EXPECT_NE(RefusalOf("mongodb+srv://a.b.c,d.e.f/x").find("more than one"), std::string::npos);
  EXPECT_EQ(RefusalOf("mongodb://[::1]/x"), "");
  EXPECT_EQ(RefusalOf("mongodb://%2Ftmp%2Fa.sock/x"), "");
}

TEST(MongodbUri, MustNameADatabaseThatCanBe) {
  for (const char* uri : {"mongodb://host", "mongodb://host/", "mongodb://host/?tls=true"}) {
    EXPECT_NE(RefusalOf(uri).find("database"), std::string::npos) << uri;
  }
  for (const char* uri : {"mongodb://host/a.b", "mongodb://host/a%24b", "mongodb://host/a%2fb"}) {
    EXPECT_NE(RefusalOf(uri), "") << uri;
  }
}

TEST(MongodbUri, MayHoldOneAtSignBetweenPasswordAndHosts) {
  for (const char* uri : {"mongodb://user:a@Canary@host/shop", "mongodb://us@er:Canary@host/shop",
                          "mongodb://user:12/Canary@host", "mongodb://user:12/Canary@host/shop",
                          "mongodb+srv://user:a@Canary@one.two.three/shop"}) {
    const std::string text = RefusalOf(uri);
    EXPECT_NE(text.find("%40"), text.npos) << text;
    EXPECT_EQ(text.find("Canary"), text.npos) << text;
  }
  EXPECT_EQ(RefusalOf("mongodb://user:a%40b%2Fc@host/shop"), "");
  EXPECT_NE(RefusalOf("mongodb://host/shop?appName=a@b").find("in an option"), std::string::npos);
}

TEST(MongodbUri, ItsNameOfTheProgramIsTheOneThatTheServerSees) {
  const mongo_test::Database documents;
  const std::string name = "orders-" + std::to_string(::getpid());
  const std::string uri = documents.uri();
  const DriverLog log;
  const auto store = OpenStore(uri + (uri.find('?') == uri.npos ? "?" : "&") + "appName=" + name);
  mongo_test::RawServer server(mongo_test::SetUri());
  mongodb::Array stages;
  stages.Add(mongodb::Doc::Of("$currentOp", mongodb::Doc::Of("idleConnections", true)));
  stages.Add(mongodb::Doc::Of("$match", mongodb::Doc::Of("appName", name)));
  mongodb::Doc command;
  command.Add("aggregate", 1).Add("pipeline", stages).Add("cursor", mongodb::Doc());
  bool seen = false;
  server.Run("admin", command, [&](const bson_t& reply) {
    char* const json = bson_as_relaxed_extended_json(&reply, nullptr);
    seen = std::string(json).find(name) != std::string::npos;
    bson_free(json);
  });
  EXPECT_TRUE(seen);
  EXPECT_EQ(log.text(), "");
}

/// Every way to fail, with a secret in every place where one may stand.
TEST(MongodbUri, IsNeverRepeated) {
  const std::string secret = kCanary;
  const std::string uris[] = {
      "mongodb://user:" + secret + "@127.0.0.1:1/shop",
      "mongodb://user:" + secret + "@127.0.0.1:1",
      "mongodb://user:a@" + secret + "@127.0.0.1:1/shop",
      "mongodb://user:x?" + secret + "@127.0.0.1:1/shop",
      "mongodb://user:x?a=" + secret + "@127.0.0.1:1/shop",
      "mongodb://user:x?" + secret + "=1&y=2@127.0.0.1:1/shop",
      "mongodb://user:%zz" + secret + "@127.0.0.1:1/shop",
      "mongodb://127.0.0.1:1/shop?tlsCertificateKeyFilePassword=" + secret + "&tls=maybe",
      "mongodb://127.0.0.1:1/shop?tls=true&tlsCertificateKeyFile=/nowhere.pem"
      "&tlsCertificateKeyFilePassword=" +
          secret,
      "mongodb://127.0.0.1:1/shop?authMechanismProperties=A:" + secret + "&authMechanism=NONE",
      "mongodb://user:" + secret + "@127.0.0.1:1/shop?compressors=" + secret,
      "mongodb://user:" + secret + "@127.0.0.1:99999999/shop",
      "mongodb://user:" + secret + "@127.0.0.1:1/shop?replicaSet=rs0&maxPoolSize=-" + secret,
      "mongodb+srv://user:" + secret + "@one.two/shop",
      "mongodb+srv://user:" + secret + "@nowhere.invalid.example:27017/shop"};
  MongodbStoreOptions options;
  options.server_selection_timeout = std::chrono::milliseconds(50);
  for (const std::string& uri : uris) {
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    std::string text;
    try {
      OpenMongodbStore(uri, options);
      text = "(opened)";
    } catch (const std::exception& error) {
      text = error.what();
    }
    const std::string printed =
        ::testing::internal::GetCapturedStderr() + ::testing::internal::GetCapturedStdout();
    EXPECT_NE(text, "(opened)");
    EXPECT_EQ(text.find(secret), text.npos) << text;
    EXPECT_EQ(printed.find(secret), printed.npos) << printed;
  }
}

TEST(MongodbUri, IsNotRepeatedWhenTheServerRefusesThePassword) {
  const mongo_test::Database documents;
  std::string uri = documents.uri();
  uri.insert(uri.find("//") + 2, std::string("user:") + kCanary + "@");
  ::testing::internal::CaptureStderr();
  try {
    OpenStore(uri);
    ADD_FAILURE() << "there is no such user";
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
    EXPECT_EQ(std::string(error.what()).find(kCanary), std::string::npos);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr().find(kCanary), std::string::npos);
}

}  // namespace
}  // namespace doclock::mongo_docs_test
