#include <cmath>
#include <functional>

#include "repository/support/harness.h"

#if DOCLOCK_WITH_SQLITE
#include "doclock/stores/sqlite.h"
#endif

namespace doclock {
namespace {

class OptionsTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(OptionsTest);

/// Options that must be refused with std::invalid_argument, and the name that its text must
/// contain.
struct BadOption {
  std::string named;
  std::function<void()> act;
};
using BadOptions = std::vector<BadOption>;

void ExpectRefused(const BadOptions& rows) {
  for (const auto& [named, act] : rows) {
    EXPECT_THAT(act, ::testing::ThrowsMessage<std::invalid_argument>(::testing::HasSubstr(named)));
  }
}

const Duration kNan = std::chrono::duration<double>(std::nan(""));
const std::string kLongName(257, 'x');

/// By every verb that takes LockOptions.
void AddLockOptions(BadOptions& rows, const LockingRepository<Saga>& sagas) {
  const std::vector<std::pair<std::string, LockOptions>> bad = {
      {"ttl", {.ttl = 99ms}},
      {"ttl", {.ttl = -1ms}},
      {"ttl", {.ttl = 24h + 1ms}},
      {"ttl", {.ttl = std::chrono::hours::max()}},
      {"ttl", {.ttl = kNan}},
      {"wait", {.wait = -1ms}},
      {"wait", {.wait = kNan}},
      {"min_hold", {.min_hold = -1ms}},
      {"min_hold", {.min_hold = 24h + 1ms}},
      {"min_hold", {.min_hold = kNan}},
      {"hold_while_waiting", {.hold_while_waiting = 0ms}},
      {"hold_while_waiting", {.hold_while_waiting = 24h + 1ms}},
      {"hold_while_waiting", {.hold_while_waiting = kNan}},
      {"owner", {.owner = kLongName}},
      {"owner", {.owner = "\xff"}},
      {"group", {.group = kLongName}},
  };
  for (const auto& [field, options] : bad) {
    const std::vector<std::function<void(const LockOptions&)>> verbs = {
        [&](const LockOptions& wrong) { (void)sagas.Lock("42", wrong); },
        [&](const LockOptions& wrong) {
          (void)sagas.Lock({"42", Saga{"42"}}, wrong);
        },
        [&](const LockOptions& wrong) { (void)sagas.TryLock("42", wrong); },
        [&](const LockOptions& wrong) { (void)sagas.LockAsync("42", wrong); },
        [&](const LockOptions& wrong) { (void)sagas.LockAll({"42"}, wrong); },
        [&](const LockOptions& wrong) { (void)sagas.LockAll({}, wrong); },
        [&](const LockOptions& wrong) { (void)sagas.LockNext({}, wrong); },
        [&](const LockOptions& wrong) {
          sagas.With(
              "42", [](Saga&) {}, wrong);
        },
    };
    for (const auto& verb : verbs) {
      rows.push_back({"LockOptions::" + field, [verb, wrong = options] { verb(wrong); }});
    }
  }
}

void AddRepositoryOptions(BadOptions& rows, const LockManager& manager) {
  const std::vector<std::pair<std::string, RepositoryOptions>> bad = {
      {"ttl", {.ttl = 99ms}},
      {"ttl", {.ttl = 24h + 1ms}},
      {"ttl", {.ttl = 0s}},
      {"ttl", {.ttl = kNan}},
      {"update_retries", {.update_retries = -1}},
      {"update_retries", {.update_retries = 1001}},
      {"update_wait", {.update_wait = -1s}},
      {"update_wait", {.update_wait = kNan}},
  };
  for (const auto& [field, options] : bad) {
    rows.push_back({"RepositoryOptions::" + field, [&manager, wrong = options] {
                      LockingRepository<Saga>(manager, "other", wrong);
                    }});
  }
  for (const char* name : {"", ".hidden", "-x", "a/b", "a b", "ä"}) {
    rows.push_back({"name", [&manager, name] { LockingRepository<Saga>(manager, name); }});
  }
}

void AddLockFieldNames(BadOptions& rows, const LockManager& manager) {
  const std::vector<std::pair<std::string, std::string LockFieldNames::*>> members = {
      {"id", &LockFieldNames::id},
      {"time", &LockFieldNames::time},
      {"ttl", &LockFieldNames::ttl},
      {"version", &LockFieldNames::version},
      {"born", &LockFieldNames::born},
      {"owner", &LockFieldNames::owner},
      {"released", &LockFieldNames::released},
      {"closed", &LockFieldNames::closed},
      {"fence", &LockFieldNames::fence},
  };
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& [field, member] = members[i];
    // The name of an earlier field, too: the later one of the two is named.
    const std::string earlier = i == 0 ? "" : LockFieldNames().*members[i - 1].second;
    for (const std::string& name : {std::string(), std::string("1st"), std::string("a.b"),
                                    std::string("$a"), std::string("a b"), std::string("ä"),
                                    std::string("_id"), std::string(65, 'a'), earlier}) {
      auto names = std::make_shared<LockFieldNames>();
      (*names).*member = name;
      rows.push_back({"LockFieldNames::" + field, [&manager, names] {
                        LockingRepository<Saga>(manager, "other", {.lock_fields = names});
                      }});
    }
  }
}

void AddManagerOptions(BadOptions& rows, const std::shared_ptr<Store>& store,
                       const std::shared_ptr<Runtime>& runtime) {
  const std::vector<std::pair<std::string, ManagerOptions>> bad = {
      {"owner", {.owner = kLongName}},
      {"owner", {.owner = "\xff"}},
      {"call_budget", {.call_budget = 9ms}},
      {"call_budget", {.call_budget = 10min + 1ms}},
      {"call_budget", {.call_budget = kNan}},
      {"poll_min", {.poll_min = 0ms}},
      {"poll_min", {.poll_min = kNan}},
      {"poll_max", {.poll_min = 2s, .poll_max = 1s}},
      {"poll_max", {.poll_max = 1h + 1ms}},
      {"poll_max", {.poll_max = kNan}},
      {"drain_timeout", {.drain_timeout = -1ms}},
      {"drain_timeout", {.drain_timeout = 1min + 1ms}},
      {"drain_timeout", {.drain_timeout = kNan}},
      {"max_handovers", {.max_handovers = 0}},
      {"max_handovers", {.max_handovers = 1001}},
  };
  for (const auto& [field, options] : bad) {
    ManagerOptions wrong = options;
    wrong.runtime = runtime;
    rows.push_back({"ManagerOptions::" + field, [store, wrong] { LockManager(store, wrong); }});
  }
  rows.push_back({"store", [] { LockManager(nullptr); }});
}

void AddIndexes(BadOptions& rows, const LockingRepository<Saga>& sagas) {
  rows.push_back({"EnsureIndex: no fields", [&] { sagas.EnsureIndex({}); }});
  for (const char* field : {"", "$a", "a.", ".a", "a..b", "\xff"}) {
    rows.push_back({"field", [&sagas, field] { sagas.EnsureIndex({"step", field}); }});
    rows.push_back({"field", [&sagas, field] { sagas.EnsureIndex({field}, true); }});
  }
}

#if DOCLOCK_WITH_SQLITE
void AddSqliteOptions(BadOptions& rows) {
  const std::vector<std::pair<std::string, SqliteStoreOptions>> bad = {
      {"sync", {.sync = static_cast<SqliteSync>(9)}},
      {"busy_timeout", {.busy_timeout = 0ms}},
      {"busy_timeout", {.busy_timeout = -1ms}},
      {"busy_timeout", {.busy_timeout = 1min + 1ms}},
      {"busy_timeout", {.busy_timeout = std::chrono::hours::max()}},
      {"busy_timeout", {.busy_timeout = kNan}},
      {"max_pages", {.max_pages = -1}},
      {"max_pages", {.max_pages = 4294967295}},
      {"max_pages", {.max_pages = INT64_MAX}},
  };
  for (const auto& [field, options] : bad) {
    rows.push_back({"SqliteStoreOptions::" + field,
                    [wrong = options] { OpenSqliteStore("/never/made.db", wrong); }});
  }
}
#endif

TEST_P(OptionsTest, EveryBadValueIsRefusedByNameBeforeAnythingIsSent) {
  sagas.Insert(Saga{"42"});
  BadOptions rows;
  AddLockOptions(rows, sagas);
  AddRepositoryOptions(rows, manager);
  AddLockFieldNames(rows, manager);
  AddManagerOptions(rows, store, clock->runtime());
  AddIndexes(rows, sagas);
#if DOCLOCK_WITH_SQLITE
  AddSqliteOptions(rows);
#endif
  store->Reset();
  ExpectRefused(rows);
  EXPECT_EQ(store->Calls(), 0);
}

TEST_P(OptionsTest, TheLimitsThemselvesAreTaken) {
  sagas.Insert(Saga{"42"});
  for (const LockOptions& good :
       {LockOptions{}, LockOptions{.ttl = 100ms}, LockOptions{.ttl = 24h},
        LockOptions{.wait = std::chrono::hours::max()}, LockOptions{.wait = kForever},
        LockOptions{.owner = std::string_view(kLongName).substr(1)}}) {
    sagas.Lock("42", good).Release();
  }
  for (const ManagerOptions& good :
       {ManagerOptions{.call_budget = 10ms}, ManagerOptions{.call_budget = 10min},
        ManagerOptions{.poll_min = 1ms}, ManagerOptions{.poll_min = 1h, .poll_max = 1h},
        ManagerOptions{.drain_timeout = 0ms}, ManagerOptions{.drain_timeout = 1min},
        ManagerOptions{.max_handovers = 1}, ManagerOptions{.max_handovers = 1000}}) {
    ManagerOptions options = good;
    options.runtime = clock->runtime();
    EXPECT_NO_THROW(LockManager(store, options));
  }
}

TEST_P(OptionsTest, OtherNamesOfTheLocksFieldsForATypeOrACollection) {
  const auto names = std::make_shared<LockFieldNames>();
  names->id = "my_lock";
  const LockingRepository<json> raw(manager, "raw", {.lock_fields = names});
  EXPECT_THROW(raw.Insert("1", {{"my_lock", 1}}), DocumentException);
  raw.Insert("1", {{"lockId", "mine"}});
  EXPECT_EQ(**raw.Find("1"), json({{"lockId", "mine"}}));
}

TEST_P(OptionsTest, TheRepositorysTtlIsTheDefault) {
  const LockingRepository<Saga> quick(manager, "quick", {.ttl = 5s});
  EXPECT_LE(quick.Lock({"1", Saga{"1"}}).Remaining(), 5s);
  EXPECT_GT(quick.Lock({"2", Saga{"2"}}, {.ttl = 1min}).Remaining(), 50s);
}

}  // namespace
}  // namespace doclock
