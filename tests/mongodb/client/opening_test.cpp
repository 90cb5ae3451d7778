#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "doclock/open_store.h"
#include "mongodb/client/pool.h"
#include "mongodb/support/client.h"
#include "mongodb/support/fail_point.h"
#include "mongodb/support/fake_server.h"
#include "mongodb/support/monitored_pool.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Array;
using mongodb::Doc;
using ::testing::HasSubstr;

/// The error of opening a store, if it fails.
template <class Exception, class... Args>
std::string Refusal(Args&&... args) {
  try {
    OpenMongodbStore(std::forward<Args>(args)...);
    return "opened";
  } catch (const Exception& error) {
    return error.what();
  }
}

FakeServer::Answer ServerOf(int wire_version, const std::string& version) {
  return [=](std::string_view command) {
    Doc answer;
    if (command == "aggregate") {
      answer.Add("ok", 0.0).Add("code", 17276).Add("errmsg", "Use of undefined variable: NOW");
      return answer;
    }
    answer.Add("ok", 1.0).Add("helloOk", true).Add("ismaster", true);
    answer.Add("isWritablePrimary", true).Add("minWireVersion", 0);
    answer.Add("maxWireVersion", wire_version).Add("maxBsonObjectSize", 16 << 20);
    answer.Add("maxMessageSizeBytes", 48'000'000).Add("maxWriteBatchSize", 100'000);
    if (command == "buildInfo") answer.Add("version", version);
    return answer;
  };
}

TEST(MongodbOpening, NamesAServerThatIsTooOld) {
  const FakeServer server(ServerOf(9, "4.4.29"));
  EXPECT_THAT(Refusal<StoreException>(server.uri()),
              HasSubstr("too old: it is 4.4.29, and 5.0 or newer is needed"));
}

TEST(MongodbOpening, NamesAServerThatTheDriverCannotSpeakWith) {
  const FakeServer server(ServerOf(2, "2.6.12"));
  try {
    OpenMongodbStore(server.uri());
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
    EXPECT_THAT(error.what(), HasSubstr("no version of the protocol in common"));
  }
}

TEST(MongodbOpening, NamesAMemberThatIsNeverThePrimary) {
  for (const auto& [role, text] : {std::pair{"arbiterOnly", "an arbiter"},
                                   {"hidden", "hidden or of priority 0"},
                                   {"passive", "hidden or of priority 0"}}) {
    const FakeServer server([role](std::string_view command) {
      Doc answer = ServerOf(17, "6.0.0")(command == "aggregate" ? "find" : command), me;
      bson_copy_to_excluding_noinit(answer.get(), me.get(), "ismaster", "isWritablePrimary",
                                    nullptr);
      me.Add("ismaster", false).Add("isWritablePrimary", false).Add("secondary", true);
      me.Add("setName", "doclock").Add(role, true);
      return me;
    });
    try {
      OpenMongodbStore(server.uri());
      ADD_FAILURE() << role;
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kRefused) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  }
}

TEST(MongodbOpening, ANameWithoutServersIsToldFromNameServersThatAreAway) {
  using mongodb::HasNoRecord;
  const std::string lookup = "Failed to look up SRV record \"_mongodb._tcp.shop.example\": ";
  EXPECT_TRUE(HasNoRecord(lookup + "The specified host is unknown."));
  EXPECT_TRUE(HasNoRecord(lookup + "The requested name is valid but does not have an IP address."));
  EXPECT_TRUE(HasNoRecord("No SRV records for \"_mongodb._tcp.shop.example\""));
  EXPECT_FALSE(HasNoRecord(lookup + "A temporary error occurred on an authoritative name server."));
  EXPECT_FALSE(HasNoRecord(lookup + "A nonrecoverable name server error occurred."));
}

TEST(MongodbOpening, NamesAServerWithoutTheVariableThatLeasesAreCountedBy) {
  const FakeServer server(ServerOf(17, "6.0.0"));
  EXPECT_THAT(Refusal<StoreException>(server.uri()), HasSubstr("$$NOW"));
}

constexpr int kNotWritablePrimary = 10107;

/// As a primary does that steps down.
TEST(MongodbOpening, OfACollectionWaitsForAPrimary) {
  Database database(SetUri());
  const auto store = OpenMongodbStore(database.uri(), {.server_selection_timeout = 30s});
  FailPoint stepdown(database, {.name = "NotPrimary", .error_code = kNotWritablePrimary},
                     {.times = 3, .commands = {"listIndexes", "aggregate"}});
  EXPECT_NE(store->Open("things", {}, kTtl), nullptr);
  EXPECT_EQ(stepdown.End(), 3);
}

TEST(MongodbOpening, OfACollectionTellsWhyThereIsNoPrimary) {
  Database database(SetUri());
  const auto store = OpenMongodbStore(database.uri(), {.server_selection_timeout = 200ms});
  const FailPoint stepdown(database, {.name = "NotPrimary", .error_code = kNotWritablePrimary},
                           {.commands = {"listIndexes", "aggregate"}});
  try {
    static_cast<void>(store->Open("things", {}, kTtl));
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kUnavailable);
    EXPECT_THAT(error.what(), ::testing::AnyOf(HasSubstr("10107"), HasSubstr("no primary")));
  }
  EXPECT_FALSE(store->Find("things"));
}

class MongodbPool : public ::testing::Test {
 protected:
  Database database_{SetUri()};
};

TEST_F(MongodbPool, WithoutABoundOnAnswersIsRefusedWithTheReason) {
  const MonitoredPool pool(SetUri(), database_.name());
  EXPECT_THAT(Refusal<std::invalid_argument>(pool.get(), database_.name()),
              HasSubstr("socketTimeoutMS"));
}

TEST_F(MongodbPool, ABorrowedOneServesAStore) {
  MonitoredPool pool(WithSocketTimeout(SetUri()), database_.name());
  EXPECT_THAT(Refusal<std::invalid_argument>(pool.get(), ""), HasSubstr("name of the database"));
  Client things(OpenMongodbStore(pool.get(), database_.name()));
  const Key key("a");
  const AcquireOp made = things.Acquire(key, NewUuid(), Counted(1));
  EXPECT_EQ(made.status, OpStatus::kDone) << Why(made);
  EXPECT_EQ(things.Renew(key, made.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_GE(pool.TakeCount(), 2);
}

TEST(MongodbClocks, OfMembersOnOneMachineDifferByLittle) {
  Database database(SetUri());
  // The part that cannot be measured counts as skew: the time of a question and its answer. On a
  // busy machine that may be long, but not each time.
  std::chrono::nanoseconds least = 1h;
  for (int i = 0; i < 20 && least >= 1s; ++i) {
    const auto store = OpenMongodbStore(database.uri());
    const std::chrono::nanoseconds skew = MongodbClockSkew(*store);
    EXPECT_GT(skew, 0ns);
    const std::chrono::nanoseconds margin = store->traits().clock_margin;
    // It is measured again now and then.
    if (MongodbClockSkew(*store) == skew) {
      EXPECT_GE(margin, skew + 1ms);
    }
    least = std::min(least, skew);
  }
  EXPECT_LT(least, 1s);
}

TEST(MongodbClocks, OfAServerAloneDoNotDiffer) {
  Database database(StandaloneUri());
  const auto store = OpenMongodbStore(database.uri());
  EXPECT_EQ(MongodbClockSkew(*store), 0ns);
  EXPECT_GE(store->traits().clock_margin, 1ms);
  EXPECT_LT(store->traits().clock_margin, 5ms);
}

TEST(MongodbClocks, AreNoneOfAnotherStore) {
  EXPECT_THROW(MongodbClockSkew(*OpenMemoryStore()), std::invalid_argument);
}

}  // namespace
}  // namespace doclock::mongo_test
