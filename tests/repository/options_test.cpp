#include <functional>

#include "repository/harness.h"

namespace doclock {
namespace {

class OptionsTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(OptionsTest);

/// Expects std::invalid_argument that names the field.
void ExpectRefused(const std::string& field, const std::function<void()>& act) {
  try {
    act();
    ADD_FAILURE() << field << " was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << error.what();
  }
}

TEST_P(OptionsTest, LockOptions) {
  sagas.Insert(Saga{"42"});
  const std::string long_name(257, 'x');
  const std::vector<std::pair<std::string, LockOptions>> bad = {
      {"ttl", {.ttl = 99ms}},
      {"ttl", {.ttl = -1ms}},
      {"ttl", {.ttl = 24h + 1ms}},
      {"ttl", {.ttl = std::chrono::hours::max()}},
      {"wait", {.wait = -1ms}},
      {"wait", {.wait = std::chrono::duration<double>(std::nan(""))}},
      {"min_hold", {.min_hold = -1ms}},
      {"min_hold", {.min_hold = 24h + 1ms}},
      {"owner", {.owner = long_name}},
      {"owner", {.owner = "\xff"}},
  };
  store->Reset();
  for (const auto& [field, options] : bad) {
    const auto wrong = options;
    ExpectRefused(field, [&] { (void)sagas.Lock("42", wrong); });
    ExpectRefused(field, [&] { (void)sagas.Lock("42", Saga{"42"}, wrong); });
    ExpectRefused(field, [&] { (void)sagas.TryLock("42", wrong); });
    ExpectRefused(field, [&] { (void)sagas.LockAsync("42", wrong); });
    ExpectRefused(field, [&] { (void)sagas.LockAll({"42"}, wrong); });
    ExpectRefused(field, [&] { (void)sagas.LockAll({}, wrong); });
    ExpectRefused(field, [&] { (void)sagas.LockNext({}, wrong); });
    ExpectRefused(field, [&] {
      sagas.With(
          "42", [](Saga&) {}, wrong);
    });
  }
  EXPECT_EQ(store->Calls(), 0);
  for (const LockOptions& good :
       {LockOptions{}, LockOptions{.ttl = 100ms}, LockOptions{.ttl = 24h},
        LockOptions{.wait = std::chrono::hours::max()}, LockOptions{.wait = kForever},
        LockOptions{.owner = std::string_view(long_name).substr(1)}}) {
    sagas.Lock("42", good).Release();
  }
}

TEST_P(OptionsTest, RepositoryOptions) {
  const auto open = [&](RepositoryOptions options) {
    return [this, options] { LockingRepository<Saga>(manager, "other", options); };
  };
  ExpectRefused("ttl", open({.ttl = 99ms}));
  ExpectRefused("ttl", open({.ttl = 25h}));
  ExpectRefused("ttl", open({.ttl = 0s}));
  ExpectRefused("update_retries", open({.update_retries = -1}));
  ExpectRefused("update_retries", open({.update_retries = 1001}));
  ExpectRefused("update_wait", open({.update_wait = -1s}));
  const auto with_names = [&](LockFieldNames names) {
    return open({.lock_fields = std::make_shared<LockFieldNames>(std::move(names))});
  };
  ExpectRefused("id", with_names({.id = ""}));
  ExpectRefused("time", with_names({.time = "1st"}));
  ExpectRefused("version", with_names({.version = "a.b"}));
  ExpectRefused("owner", with_names({.owner = "lockId"}));
  for (const char* name : {"", ".hidden", "-x", "a/b", "a b", "ä"}) {
    ExpectRefused("name", [&] { LockingRepository<Saga>(manager, name); });
  }
}

TEST_P(OptionsTest, ManagerOptions) {
  const auto open = [&](ManagerOptions options) {
    options.runtime = clock->runtime();
    return [this, options] { LockManager(store, options); };
  };
  ExpectRefused("owner", open({.owner = std::string(257, 'x')}));
  ExpectRefused("owner", open({.owner = "\xff"}));
  ExpectRefused("call_budget", open({.call_budget = 9ms}));
  ExpectRefused("poll_min", open({.poll_min = 0ms}));
  ExpectRefused("poll_max", open({.poll_min = 2s, .poll_max = 1s}));
  ExpectRefused("drain_timeout", open({.drain_timeout = -1ms}));
  ExpectRefused("drain_timeout", open({.drain_timeout = 2min}));
  ExpectRefused("max_handovers", open({.max_handovers = 0}));
  ExpectRefused("max_handovers", open({.max_handovers = 1001}));
  ExpectRefused("store", [] { LockManager(nullptr); });
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
  EXPECT_LE(quick.Lock("1", Saga{"1"}).Remaining(), 5s);
  EXPECT_GT(quick.Lock("2", Saga{"2"}, {.ttl = 1min}).Remaining(), 50s);
}

}  // namespace
}  // namespace doclock
