// What a server's error proves about a write: that nothing was done, or nothing at all. The text
// names the error, and holds no data.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "doclock/locking_repository.h"
#include "mongodb/support/client.h"
#include "mongodb/support/fake_server.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Array;
using mongodb::Doc;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

struct ServerError {
  int code;
  std::string name;
  bool nothing_written;  ///< By the server's label.
  bool of_statement;     ///< As the error of one statement, which has no name.
};

Doc ErrorOf(const ServerError& told) {
  Doc error;
  error.Add("code", told.code).Add("errmsg", "about Canary");
  if (told.of_statement) {
    error.Add("index", 0);
    Doc answer = Doc::Of("ok", 1.0);
    answer.Add("n", 0).Add("writeErrors", Array().Add(error));
    return answer;
  }
  error.Add("ok", 0.0).Add("codeName", told.name);
  if (told.nothing_written) error.AddStrings("errorLabels", {"NoWritesPerformed"});
  return error;
}

/// The greeting of a server alone, and the answer to all that it is asked.
Doc Primary() {
  Doc answer;
  answer.Add("ok", 1.0).Add("helloOk", true).Add("ismaster", true);
  answer.Add("isWritablePrimary", true).Add("minWireVersion", 0).Add("maxWireVersion", 17);
  answer.Add("maxBsonObjectSize", 16 << 20).Add("maxMessageSizeBytes", 48'000'000);
  answer.Add("maxWriteBatchSize", 100'000);
  return answer;
}

/// A primary that answers all writes so, and counts them.
class RefusingServer {
 public:
  explicit RefusingServer(const ServerError& told)
      : server_([this, told](std::string_view command) {
          if (command == "update") {
            ++writes_;
            return ErrorOf(told);
          }
          return Primary();
        }) {}
  /// A checkpoint under some lock.
  WriteOp Write() {
    Client client(OpenMongodbStore(server_.uri()));
    return client.Write(key_, WriteKind::kCheckpoint, NewUuid(),
                        {.expected = 1, .body = Counted(1)});
  }
  [[nodiscard]] int writes() const { return writes_; }

 private:
  const Key key_{"a"};
  std::atomic<int> writes_ = 0;
  FakeServer server_;
};

TEST(MongodbRefusal, ThatProvesThatNothingWasDoneIsNoDoubt) {
  for (const bool of_statement : {false, true}) {
    for (const auto& [code, name] : {std::pair{10107, "NotWritablePrimary"},
                                     {13435, "NotPrimaryNoSecondaryOk"},
                                     {13436, "NotPrimaryOrSecondary"},
                                     {10058, "LegacyNotPrimary"},
                                     {112, "WriteConflict"},
                                     {117, "ConflictingOperationInProgress"},
                                     {365, "TemporarilyUnavailable"},
                                     {12587, "BackgroundOperationInProgressForNamespace"},
                                     {371, "UserWritesBlocked"}}) {
      SCOPED_TRACE(name);
      RefusingServer server({code, name, false, of_statement});
      const WriteOp op = server.Write();
      ASSERT_EQ(op.status, OpStatus::kFailed) << Why(op);
      EXPECT_EQ(op.detail->code, Errc::kUnavailable);
      EXPECT_THAT(Why(op), AllOf(HasSubstr(name), Not(HasSubstr("Canary"))));
      EXPECT_EQ(server.writes(), 1);
    }
  }
}

TEST(MongodbRefusal, ThatMayComeAfterTheEffectIsDoubtUnlessTheServerDeniesIt) {
  for (const auto& [code, name] : {std::pair{189, "PrimarySteppedDown"},
                                   {91, "ShutdownInProgress"},
                                   {11600, "InterruptedAtShutdown"},
                                   {11602, "InterruptedDueToReplStateChange"},
                                   {262, "ExceededTimeLimit"}}) {
    SCOPED_TRACE(name);
    RefusingServer vague({code, name, false, false});
    EXPECT_EQ(vague.Write().status, OpStatus::kInDoubt);
    EXPECT_EQ(vague.writes(), 1);
    RefusingServer of_statement({code, name, false, true});
    EXPECT_EQ(of_statement.Write().status, OpStatus::kInDoubt);
    RefusingServer sure({code, name, true, false});
    const WriteOp op = sure.Write();
    ASSERT_EQ(op.status, OpStatus::kFailed);
    EXPECT_EQ(op.detail->code, Errc::kUnavailable);
    EXPECT_THAT(Why(op), HasSubstr(name));
  }
}

TEST(MongodbRefusal, IsToldByItsNameAndByTheLimitThatItMeans) {
  const std::tuple<int, const char*, const char*> refusals[] = {
      {2, "BadValue", "BadValue (error 2)"},
      {18, "AuthenticationFailed", "correct the user, password or authSource"},
      {20, "IllegalOperation", "transactions a replica set or mongos"},
      {59, "CommandNotFound", "MongoDB 5.0 or newer"},
      {72, "InvalidOptions", "InvalidOptions (error 72)"},
      {73, "InvalidNamespace", "at most 63 bytes"},
      {76, "NoReplicationEnabled", "transactions a replica set or mongos"},
      {115, "CommandNotSupported", "MongoDB 5.0 or newer"},
      {171, "CannotIndexParallelArrays", "two fields that are arrays"},
      {263, "OperationNotSupportedInTransaction", "(error 263)"},
      {322, "APIVersionError", "must not set apiStrict"},
      {323, "APIStrictError", "must not set apiStrict"},
      {334, "MechanismUnavailable", "authMechanism"},
      {8000, "AtlasError", "the plan of the cluster"},
      {61, "ShardKeyNotFound", "sharded by _id"},
      {121, "DocumentValidationFailure", "it must allow the fields of the lock: lockId"},
      {166, "CommandNotSupportedOnView", "CommandNotSupportedOnView (error 166)"},
      {10334, "BSONObjectTooLarge", "16 MiB"},
      {17419, "Location17419", "error 17419: a document"},
      {999999, "NewInThisVersion", "NewInThisVersion (error 999999)"}};
  for (const auto& [code, name, text] : refusals) {
    for (const bool of_statement : {false, true}) {
      SCOPED_TRACE(name);
      RefusingServer server({code, name, false, of_statement});
      const WriteOp op = server.Write();
      ASSERT_EQ(op.status, OpStatus::kFailed) << Why(op);
      EXPECT_EQ(op.detail->code, Errc::kRefused);
      // The error of a statement brings no name: those that mean something are known.
      const bool unknown = of_statement && (code == 2 || code == 999999);
      EXPECT_THAT(Why(op), AllOf(HasSubstr(unknown ? std::to_string(code) : text),
                                 Not(HasSubstr("Canary"))));
    }
  }
}

TEST(MongodbRefusal, OfAQueryIsToldByItsName) {
  std::atomic<bool> refuses = false;
  const FakeServer server([&](std::string_view command) {
    if (command == "aggregate" && refuses) return ErrorOf({2, "BadValue", false, false});
    Doc answer = Primary(), cursor;
    cursor.Add("firstBatch", Array()).Add("id", std::int64_t{0});
    answer.Add("cursor", cursor.Add("ns", "test.things"));
    return answer;
  });
  Client client(OpenMongodbStore(server.uri()));
  refuses = true;
  try {
    client.store().Query(
        client.collection(), Filter{}, [](QueryRow&&) { return true; }, 10s);
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("BadValue (error 2)"), Not(HasSubstr("Canary"))));
  }
}

/// A secondary of the shared set, as "127.0.0.1:1".
std::string Secondary() {
  std::string secondary, primary;
  RawServer server(SetUri());
  const auto read = [&](const bson_t& hello) {
    primary = mongodb::TextAt(hello, "primary");
    mongodb::ForEachItem(hello, "hosts", [&](const bson_iter_t& item) {
      const std::string host = bson_iter_utf8(&item, nullptr);
      if (host != primary) secondary = host;
      return true;
    });
  };
  server.Run("admin", Doc::Of("hello", 1), read);
  return secondary;
}

TEST(MongodbRefusal, OfASecondaryThatTheUriConnectsToIsToldAtOnce) {
  Database database(SetUri());
  const std::string uri =
      "mongodb://" + Secondary() + "/" + database.name() + "?directConnection=true";
  const LockManager manager(OpenMongodbStore(uri));
  const LockingRepository<nlohmann::json> things(manager, "things");
  for (const bool inserts : {false, true}) {
    try {
      inserts ? static_cast<void>(things.Insert("a", {{"n", 1}}))
              : static_cast<void>(things.TryLock({"a", nlohmann::json{{"n", 1}}}));
      ADD_FAILURE();
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kUnavailable);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("NotWritablePrimary"), HasSubstr("replicaSet="),
                                      HasSubstr(Secondary())));
    }
  }
  const auto store = OpenMongodbStore(uri);
  EXPECT_THAT(store->Examine(nullptr, 10s),
              Contains(AllOf(Field(&Finding::check, "topology"),
                             Field(&Finding::level, FindingLevel::kProblem))));
}

}  // namespace
}  // namespace doclock::mongo_test
