#include <nlohmann/json.hpp>

#include "conformance/suite/client.h"
#include "doclock/locking_repository.h"
#include "named/harness.h"

namespace doclock::named {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StatusTest : public NamedTest {
 protected:
  std::vector<std::string> Names(const LockFilter& filter = {}) {
    std::vector<std::string> names;
    for (const LockStatus& lock : jobs.Admin().Status(filter)) names.push_back(lock.name);
    return names;
  }
  std::int64_t Documents() {
    return static_cast<std::int64_t>(
        LockingRepository<nlohmann::json>(manager, "jobs").Find(Filter{}).size());
  }
};
DOCLOCK_FOR_ALL_STORES(StatusTest);

TEST_P(StatusTest, ShowsHoldersLeasesAndAges) {
  auto lock = jobs.Acquire("a", {.ttl = 1min, .renew = false, .owner = "me", .group = "g"});
  clock->Advance(10s);
  const auto all = jobs.Admin().Status();
  ASSERT_EQ(all.size(), 1U);
  const LockStatus& status = all[0];
  EXPECT_EQ(status.name, "a");
  EXPECT_EQ(status.key, Key("a"));
  EXPECT_EQ(status.holder.name, "me");
  EXPECT_GT(status.holder.pid, 0);
  EXPECT_EQ(status.group, "g");
  EXPECT_EQ(status.fence, lock.fence());
  EXPECT_EQ(status.ttl, 1min);
  EXPECT_EQ(status.remaining, 50s);
  EXPECT_EQ(status.age, 10s);
  EXPECT_FALSE(status.expired);
  lock.Release();
  EXPECT_THAT(jobs.Admin().Status(), IsEmpty());
}

TEST_P(StatusTest, FiltersByNameOwnerAndGroup) {
  auto a = jobs.Acquire("x/a", {.owner = "one", .group = "g"});
  auto b = jobs.Acquire("x/b", {.owner = "two", .group = "h"});
  auto c = jobs.Acquire("y/c", {.owner = "one", .group = "h"});
  EXPECT_THAT(Names({.name = "x/b"}), ElementsAre("x/b"));
  EXPECT_THAT(Names({.name = "z"}), IsEmpty());
  EXPECT_THAT(Names({.name_prefix = "x/"}), ElementsAre("x/a", "x/b"));
  EXPECT_THAT(Names({.owner = "one"}), ElementsAre("x/a", "y/c"));
  EXPECT_THAT(Names({.group = "h"}), ElementsAre("x/b", "y/c"));
  EXPECT_THAT(Names({.owner = "one", .group = "h"}), ElementsAre("y/c"));
}

/// LockStatus::name escapes them.
TEST_P(StatusTest, FiltersByThePrefixOfNamesWithControlCharacters) {
  auto odd = jobs.Acquire("x\x01y"), plain = jobs.Acquire("xy");
  EXPECT_EQ(Names({.name_prefix = "x\x01"}).size(), 1U);
  EXPECT_EQ(Names({.name_prefix = "x"}).size(), 2U);
  EXPECT_THAT(Names({.name_prefix = "x\\"}), IsEmpty());
}

TEST_P(StatusTest, FiltersByLeaseAndAgeWithBothBoundsTogether) {
  auto a = jobs.Acquire("a", {.ttl = 1h, .renew = false});
  clock->Advance(10min);
  auto b = jobs.Acquire("b", {.ttl = 1h, .renew = false});
  clock->Advance(10min);
  auto c = jobs.Acquire("c", {.ttl = 1h, .renew = false});
  EXPECT_THAT(Names({.remaining_below = 45min}), ElementsAre("a"));
  EXPECT_THAT(Names({.remaining_at_least = 55min}), ElementsAre("c"));
  EXPECT_THAT(Names({.remaining_below = 55min, .remaining_at_least = 45min}), ElementsAre("b"));
  const auto now = std::chrono::system_clock::now();
  EXPECT_THAT(Names({.granted_before = now - 5min, .granted_after = now - 15min}),
              ElementsAre("b"));
}

TEST_P(StatusTest, ShowsWhatMinHoldKeepsClosedIfAsked) {
  auto held = jobs.Acquire("held", {.min_hold = 1min});
  jobs.Acquire("closed", {.min_hold = 1min}).Release();
  jobs.Acquire("free").Release();
  EXPECT_THAT(Names(), ElementsAre("held"));
  EXPECT_THAT(Names({.name = "closed"}), IsEmpty());
  const auto all = jobs.Admin().Status({.closed = true});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all[0].name == "closed" && all[0].closed && all[0].unheld && !all[0].expired);
  EXPECT_TRUE(all[0].ttl == 0ms && all[0].remaining == 0ms && all[0].age == 0ms);
  EXPECT_EQ(all[0].granted, std::chrono::system_clock::time_point());
  EXPECT_TRUE(all[1].name == "held" && all[1].closed && !all[1].unheld);
  EXPECT_THAT(Names({.name = "closed", .closed = true}), ElementsAre("closed"));
  EXPECT_THAT(Names({.granted_before = std::chrono::system_clock::now() + 1h, .closed = true}),
              ElementsAre("held"));
  EXPECT_THAT(Names({.name = "free", .closed = true}), IsEmpty());
  clock->Advance(2min);
  EXPECT_THAT(Names({.name = "closed", .closed = true}), IsEmpty());
  held.Release();
}

TEST_P(StatusTest, PurgeDoesTheSameWithItsIndex) {
  jobs.EnsureIndexes();
  jobs.EnsureIndexes();
  auto dead = jobs.Acquire("dead", {.ttl = 1s, .renew = false});
  auto live = jobs.Acquire("live", {.ttl = 1min});
  clock->Advance(2s);
  EXPECT_EQ(jobs.Admin().Purge().expired, 1);
  EXPECT_THAT(Names(), ElementsAre("live"));
  live.Release();
}

TEST_P(StatusTest, ALockMakesNoDocumentBesidesItsOwn) {
  auto lock = jobs.Acquire("a", {.ttl = 10s});
  EXPECT_FALSE(jobs.TryAcquire("a", {.wait = 1s}));
  auto share = jobs.Acquire("b", {.ttl = 10s, .mode = LockMode::kShared});
  EXPECT_FALSE(jobs.TryAcquire("b"));
  clock->Advance(1min);
  lock.Release();
  EXPECT_EQ(Documents(), 2);
}

TEST_P(StatusTest, NothingIsTidiedInTheBackground) {
  {
    auto dead = jobs.Acquire("dead", {.ttl = 1s});
    dead.Detach();
  }
  auto live = jobs.Acquire("live", {.ttl = 10min});
  clock->Advance(2h);
  EXPECT_THAT(Names({.expired = true}), ElementsAre("dead"));
  EXPECT_EQ(Documents(), 2);
}

TEST_P(StatusTest, PurgeForgetsOnlyNamesLongUnusedThatHoldNothing) {
  jobs.Acquire("old").Release();
  jobs.Acquire("closed", {.min_hold = 3h}).Release();
  auto live = jobs.Acquire("live");
  LockingRepository<nlohmann::json>(manager, "jobs").Insert("document", {{"n", 1}});
  clock->Advance(2h);
  jobs.Acquire("fresh").Release();
  auto expired = jobs.Acquire("expired", {.ttl = 1s, .renew = false});
  clock->Advance(2s);
  const PurgeResult result = jobs.Admin().Purge({.forget = true, .idle_for = 1h});
  EXPECT_EQ(result.expired, 1);
  EXPECT_EQ(result.forgotten, 1) << "old";
  EXPECT_EQ(jobs.Acquire("old").fence(), 1);
  EXPECT_GT(jobs.Acquire("fresh").fence(), 1);
  EXPECT_TRUE(live.held());
  EXPECT_FALSE(IsFree("closed"));
}

TEST_P(StatusTest, ANameHeldForLongIsNotIdleOnceItIsReleased) {
  auto lock = jobs.Acquire("a", {.ttl = 1min});
  clock->Advance(5h);
  lock.Release();
  EXPECT_EQ(jobs.Admin().Purge({.forget = true, .idle_for = 1h}).forgotten, 0);
  clock->Advance(2h);
  EXPECT_EQ(jobs.Admin().Purge({.forget = true, .idle_for = 1h}).forgotten, 1);
}

TEST_P(StatusTest, PurgeForgetsThousandsInBatches) {
  conformance::Client others(store, "jobs");
  for (int i = 0; i < 1500; ++i) {
    const std::string name = std::to_string(i);
    others.Release(name, others.Create(name));
  }
  clock->Advance(2h);
  store->Reset();
  EXPECT_EQ(jobs.Admin().Purge({.forget = true, .idle_for = 1h}).forgotten, 1500);
  EXPECT_EQ(Documents(), 0);
  EXPECT_GE(store->Calls(), 15);
}

TEST_P(StatusTest, PurgeRefusesToForgetWhatIsInUse) {
  EXPECT_THAT(RefusalOf([&] { (void)jobs.Admin().Purge({.forget = true}); }),
              HasSubstr("idle_for"));
  EXPECT_THAT(RefusalOf([&] { (void)jobs.Admin().Purge({.idle_for = 1h}); }),
              HasSubstr("idle_for"));
}

TEST_P(StatusTest, AForgottenNameThatIsTakenMeanwhileStays) {
  jobs.Acquire("a").Release();
  clock->Advance(2h);
  std::optional<HeldLock> meanwhile;
  bool once = false;
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kSave || std::exchange(once, true)) return;
    meanwhile = LockProvider(AnotherManager(), "jobs").Acquire("a");
  });
  EXPECT_EQ(jobs.Admin().Purge({.forget = true, .idle_for = 1h}).forgotten, 0);
  store->OnExecute({});
  ASSERT_TRUE(meanwhile);
  EXPECT_GT(meanwhile->fence(), 1);
}

TEST_P(StatusTest, AFailedForgettingIsNotReportedAsSuccess) {
  jobs.Acquire("a").Release();
  clock->Advance(2h);
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kSave});
  EXPECT_EQ(CodeOf([&] { (void)jobs.Admin().Purge({.forget = true, .idle_for = 1h}); }),
            Errc::kUnavailable);
}

TEST_P(StatusTest, BreakReleasesAndIsAuditedInTheDocument) {
  auto lock = jobs.Acquire("a", {.ttl = 10s, .owner = "victim"});
  const std::stop_token lost = lock.lost();
  const LockStatus was = jobs.Admin().Break("a", "admin");
  EXPECT_EQ(was.holder.name, "victim");
  auto next = LockProvider(AnotherManager(), "jobs").Acquire("a");
  EXPECT_GT(next.fence(), lock.fence());
  EXPECT_EQ(CodeOf([&] { lock.Release(); }), Errc::kLost) << "it was not the holder who released";
  clock->RunPending();
  EXPECT_TRUE(lost.stop_requested());
  const auto body = **LockingRepository<nlohmann::json>(manager, "jobs").Find("a");
  EXPECT_EQ(body.at("broken").at("by"), "admin");
  EXPECT_EQ(body.at("broken").at("holder"), "victim");
  EXPECT_GT(body.at("broken").at("at"), 0);
}

struct NumberedJob {
  std::int64_t id = 0;
  int n = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(NumberedJob, id, n)

TEST_P(StatusTest, ARepositoryShowsAndBreaksLocksOfItsKeysAndLeavesTheirBodies) {
  const LockingRepository<NumberedJob> numbers(manager, "numbers");
  auto lock = numbers.Lock(NumberedJob{42, 7}, {.owner = "victim"});
  lock.Save();
  const auto locks = numbers.Admin().Status({.key = Key(42)});
  ASSERT_EQ(locks.size(), 1U);
  EXPECT_EQ(locks[0].holder.name, "victim");
  EXPECT_EQ(locks[0].fence.value_or(lock.fence()), lock.fence());
  EXPECT_TRUE(numbers.Admin().Status({.key = Key("42")}).empty());
  EXPECT_THROW((void)numbers.Admin().Status({.name = "42", .key = Key(42)}), std::invalid_argument);
  EXPECT_EQ(numbers.Admin().Break(42, "admin").holder.name, "victim");
  EXPECT_EQ(CodeOf([&] { lock.Release(); }), Errc::kLost);
  const auto body = **LockingRepository<nlohmann::json>(manager, "numbers").Find(Key(42));
  EXPECT_EQ(body, (nlohmann::json{{"n", 7}}));
  EXPECT_EQ(CodeOf([&] { (void)numbers.Admin().Break(42); }), Errc::kNotOwner);
  EXPECT_EQ(CodeOf([&] { (void)numbers.Admin().Break(43); }), Errc::kNotFound);
}

TEST_P(StatusTest, BreakSaysWhyNot) {
  EXPECT_EQ(CodeOf([&] { (void)jobs.Admin().Break("a"); }), Errc::kNotFound);
  jobs.Acquire("a").Release();
  EXPECT_EQ(CodeOf([&] { (void)jobs.Admin().Break("a"); }), Errc::kNotOwner);
  auto lock = jobs.Acquire("a");
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kWrite});
  EXPECT_EQ(CodeOf([&] { (void)jobs.Admin().Break("a"); }), Errc::kUnavailable);
  EXPECT_THROW((void)jobs.Admin().Break("a", "\xFF"), std::invalid_argument);
  EXPECT_TRUE(lock.held());
  EXPECT_FALSE(IsFree("a"));
}

}  // namespace
}  // namespace doclock::named
