// A server that requires authentication: the privileges that a user needs, and the errors of users
// without them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "doclock/doclock.h"
#include "doclock/stores/mongodb.h"
#include "doclock/testing/faulty_store.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using Things = LockingRepository<nlohmann::json>;
using Actions = std::vector<std::string>;

constexpr const char* kPassword = "Canary-4b7e";
constexpr const char* kSecret = "Canary-body-91";

/// docs/reference/mongodb.md, "Privileges".
const Actions kLeast{"find", "insert", "update", "remove"};

std::string WithUser(const std::string& uri, const std::string& user, const std::string& password) {
  std::string with_user = uri;
  with_user.insert(with_user.find("//") + 2, user + ":" + password + "@");
  return with_user;
}

/// The server's own user. The first test to need it creates it: the server allows that from
/// localhost.
std::string RootUri() {
  mongodb::Array roles;
  roles.Add(std::string_view("root"));
  mongodb::Doc command;
  command.Add("createUser", "root").Add("pwd", kPassword).Add("roles", roles);
  try {
    RawServer(AuthUri()).Run("admin", command);
  } catch (const std::runtime_error&) {
    // It is there already.
  }
  return WithUser(AuthUri(), "root", kPassword) + "&authSource=admin";
}

class MongoAuth : public ::testing::Test {
 protected:
  ~MongoAuth() override {
    try {
      database_.Run(mongodb::Doc::Of("dropAllUsersFromDatabase", 1));
      database_.Run(mongodb::Doc::Of("dropAllRolesFromDatabase", 1));
    } catch (const std::runtime_error&) {
      // They stay until the server goes.
    }
  }

  [[nodiscard]] mongodb::Array Privileges(const Actions& actions) const {
    mongodb::Array names;
    for (const std::string& action : actions) names.Add(std::string_view(action));
    mongodb::Doc resource, privilege;
    resource.Add("db", database_.name()).Add("collection", "things");
    privilege.Add("resource", resource).Add("actions", names);
    mongodb::Array all;
    all.Add(privilege);
    return all;
  }
  /// A user who may do this to the collection, and nothing else. What a store is opened by.
  std::string UserWho(const Actions& actions) {
    const std::string name = "user" + std::to_string(++users_);
    mongodb::Doc role;
    role.Add("createRole", std::string_view(name));
    role.Add("privileges", Privileges(actions));
    role.AddArray("roles", mongodb::Doc());
    database_.Run(role);
    mongodb::Doc user;
    user.Add("createUser", std::string_view(name)).Add("pwd", kPassword);
    user.Add("roles", mongodb::Array().Add(std::string_view(name)));
    database_.Run(user);
    return WithUser(WithDatabase(AuthUri(), database_.name()), name, kPassword);
  }
  void Grant(const std::string& user, const Actions& actions) {
    mongodb::Doc command;
    command.Add("grantPrivilegesToRole", std::string_view(user));
    command.Add("privileges", Privileges(actions));
    database_.Run(command);
  }
  static Things Open(const std::string& uri, std::chrono::milliseconds poll = 50ms) {
    LockManager manager(OpenMongodbStore(uri), {.poll_min = poll, .poll_max = poll});
    return {std::move(manager), "things", {.ttl = 30s}};
  }
  /// The error of the call, if the store refuses it; no text has the password or the body.
  template <class Call>
  static std::string RefusalOf(const Call& call) {
    ::testing::internal::CaptureStderr();
    std::string text = "(none)";
    try {
      call();
    } catch (const StoreException& error) {
      text = error.what();
      EXPECT_EQ(error.errc(), Errc::kRefused) << text;
      EXPECT_FALSE(error.transient());
    }
    const std::string printed = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(text + printed, Not(HasSubstr("Canary")));
    return text;
  }

  Database database_{RootUri()};
  int users_ = 0;
};

nlohmann::json Secret(int n) { return {{"n", n}, {"secret", kSecret}}; }

void AddOne(nlohmann::json& document) { document["n"] = document["n"].get<int>() + 1; }

TEST_F(MongoAuth, TheLeastPrivilegesAreEnoughForEverythingButIndexes) {
  const std::string uri = UserWho(kLeast);
  const Things things = Open(uri);
  auto held = things.Lock({"a", Secret(1)});  // makes the collection too
  held.Save();
  EXPECT_FALSE(things.TryLock("a"));
  held->at("n") = 2;
  held.Release();
  things.With("a", AddOne);
  things.Update("a", AddOne);
  things.Insert("b", Secret(1));
  things.Lock("b", {.ttl = 30s, .min_hold = 1ms}).Discard();
  EXPECT_EQ(things.Find(Filter{}.AtLeast("n", 1)).size(), 2u);
  EXPECT_EQ((*things.Find("a"))->at("n"), 4);
  auto snapshot = things.Find("b");
  (*snapshot)->at("n") = 7;
  things.Save(*snapshot);
  EXPECT_EQ(things.LockNext(Filter{}.OrderBy("n")).key(), Key("a"));
  {
    auto both = things.LockAll({"a", "b"}, {.wait = 5min});
    EXPECT_EQ(both.size(), 2u);
    both[1].Erase();
  }
  EXPECT_FALSE(things.Find("b"));
  const auto store = OpenMongodbStore(uri);
  const auto collection = store->Open("things", {}, 30s);
  const Key a("a");
  const auto again = things.Lock("a", {.wait = 5min});
  EXPECT_EQ(store->ListLocks(*collection, {}, {}, 10s).rows.size(), 1u);
  testing::ExpireLock(*store, "things", a);
  EXPECT_EQ(things.Admin().Purge().expired, 1);
  EXPECT_GT(things.Lock("a").fence(), again.fence());
}

TEST_F(MongoAuth, NamedLocksNeedNoMore) {
  LockManager manager(OpenMongodbStore(UserWho(kLeast)));
  const LockProvider jobs(manager, "things");
  auto lease = jobs.Acquire("rebuild");
  EXPECT_EQ(jobs.Admin().Status().size(), 1u);
  lease.Release();
  jobs.Admin().Purge();
}

TEST_F(MongoAuth, IndexesNeedOneMoreWhichIsNamed) {
  const Things things = Open(UserWho(kLeast));
  const std::vector<Filter> due{Filter{}.Equal("step", "new").OrderBy("n")};
  for (const std::string& text : {RefusalOf([&] { things.EnsureIndexes(due); }),
                                  RefusalOf([&] { things.EnsureIndex({"n"}); })}) {
    EXPECT_THAT(text, AllOf(HasSubstr("createIndexes"), HasSubstr(database_.name() + ".things"),
                            HasSubstr("privileges createIndex")));
  }
  Grant("user1", {"createIndex"});
  things.EnsureIndexes(due);
  things.EnsureIndex({"n"}, true);
}

/// With the privilege the release itself wakes the waiter, before any poll.
TEST_F(MongoAuth, WithoutTheRightToStreamWaitingGoesOnByPolling) {
  for (const bool may_stream : {false, true}) {
    SCOPED_TRACE(may_stream);
    Actions actions = kLeast;
    if (may_stream) actions.emplace_back("changeStream");
    const std::string uri = UserWho(actions);
    const Things mine = Open(uri, may_stream ? 1h : 50ms), theirs = Open(uri);
    auto held = theirs.Lock({"job", nlohmann::json::object()}, {.wait = 5min});
    auto waiter =
        std::async(std::launch::async, [&] { mine.Lock("job", {.wait = 10min}).Release(); });
    EXPECT_EQ(waiter.wait_for(300ms), std::future_status::timeout);
    held.Release();
    ASSERT_EQ(waiter.wait_for(5min), std::future_status::ready);
    EXPECT_NO_THROW(waiter.get());
  }
}

TEST_F(MongoAuth, AMissingPrivilegeIsNamed) {
  Open(WithDatabase(RootUri(), database_.name())).Insert("there", Secret(1));
  const auto open_without = [&](const std::string& action) {
    Actions actions = kLeast;
    std::erase(actions, action);
    return Open(UserWho(actions));
  };
  const auto expect = [&](const std::string& text, const char* command, const char* action) {
    EXPECT_THAT(text, AllOf(HasSubstr(std::string("command ") + command),
                            HasSubstr(database_.name() + ".things"), HasSubstr(action)));
  };
  const Things no_find = open_without("find");
  expect(RefusalOf([&] { static_cast<void>(no_find.Lock("there")); }), "findAndModify", "find");
  expect(RefusalOf([&] { static_cast<void>(no_find.Find("there")); }), "find", "find");
  expect(RefusalOf([&] { static_cast<void>(no_find.Find(Filter{})); }), "aggregate", "find");
  const Things no_insert = open_without("insert");
  expect(RefusalOf([&] { no_insert.Insert("new", Secret(1)); }), "insert", "insert");
  expect(RefusalOf([&] {
           static_cast<void>(no_insert.Lock({"new", Secret(1)}));
         }),
         "findAndModify", "insert");
  const Things no_update = open_without("update");
  expect(RefusalOf([&] { static_cast<void>(no_update.Lock("there")); }), "findAndModify", "update");
  expect(RefusalOf([&] { no_update.Update("there", AddOne); }), "update", "update");
  const Things no_remove = open_without("remove");
  expect(RefusalOf([&] { no_remove.Erase("there"); }), "delete", "remove");
  // Nothing was written, and operations that were not refused go on.
  EXPECT_EQ((*no_remove.Find("there"))->at("n"), 1);
  auto held = no_remove.Lock("there");
  expect(RefusalOf([&] { held.Erase(); }), "delete", "remove");
  EXPECT_TRUE(held.held());
  held.Release();
}

TEST_F(MongoAuth, AnExaminationNamesWhatAUserLacksInACollectionThatIsMissing) {
  const auto findings_of = [](const std::string& uri) {
    Collection things("things", {}, 30s);
    return OpenMongodbStore(uri)->Examine(&things, 10s);
  };
  const auto privileges = [](FindingLevel level, const std::string& text) {
    return Contains(AllOf(Field(&Finding::check, "privileges"), Field(&Finding::level, level),
                          Field(&Finding::text, HasSubstr(text))));
  };
  EXPECT_THAT(findings_of(UserWho({"find", "insert"})),
              privileges(FindingLevel::kProblem, "the user lacks update, remove"));
  EXPECT_THAT(findings_of(UserWho(kLeast)), privileges(FindingLevel::kOk, "may do all"));
}

TEST_F(MongoAuth, AWrongPasswordIsToldAsOne) {
  const std::string good = UserWho(kLeast);
  const auto refusal = [](const std::string& uri) {
    return RefusalOf([&] { OpenMongodbStore(uri); });
  };
  std::string bad = good;
  bad.insert(bad.find('@'), "x");
  const std::string unknown =
      WithUser(WithDatabase(AuthUri(), database_.name()), "nobody", kPassword);
  EXPECT_THAT(refusal(bad), HasSubstr("does not accept the credentials"));
  EXPECT_THAT(refusal(unknown), HasSubstr("does not accept the credentials"));
  // No credentials at all: the server answers, and lets nothing be done.
  const Things stranger = Open(WithDatabase(AuthUri(), database_.name()));
  EXPECT_THAT(RefusalOf([&] {
                static_cast<void>(stranger.Lock({"a", Secret(1)}));
              }),
              HasSubstr("findAndModify"));
}

/// The driver calls both by the same name.
TEST_F(MongoAuth, AConnectionThatBreaksMeanwhileIsNoWrongPassword) {
  const std::string uri = UserWho(kLeast);
  mongodb::Doc data;
  data.AddStrings("failCommands", {"saslStart", "saslContinue"}).Add("closeConnection", true);
  mongodb::Doc command;
  command.Add("configureFailPoint", "failCommand").Add("mode", "alwaysOn").Add("data", data);
  database_.server().Run("admin", command);
  std::optional<Errc> code;
  std::string text;
  try {
    OpenMongodbStore(uri, {.server_selection_timeout = 500ms});
  } catch (const StoreException& error) {
    code = error.errc();
    text = error.what();
    EXPECT_TRUE(error.transient());
  }
  mongodb::Doc off;
  off.Add("configureFailPoint", "failCommand").Add("mode", "off");
  database_.server().Run("admin", off);
  EXPECT_EQ(code, Errc::kUnavailable) << text;
  EXPECT_THAT(text, HasSubstr("while the user was authenticated"));
  EXPECT_THAT(text, Not(HasSubstr("Canary")));
  EXPECT_NO_THROW(OpenMongodbStore(uri));
}

}  // namespace
}  // namespace doclock::mongo_test
