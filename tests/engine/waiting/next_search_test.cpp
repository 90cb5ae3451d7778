#include "doclock/time.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

class NextSearchTest : public EngineTest {
 protected:
  using EngineTest::EngineTest;

  void Put(const Key& key, int due) { ASSERT_FALSE(Insert(key, {{"due", due}})); }
  AcquireSpec Next(LockOptions options = {}) {
    AcquireSpec spec = MakeSpec(engine(), *collection, options, 30s);
    spec.filter.AtMost("due", 100).OrderBy("due");
    return spec;
  }
};

TEST_F(NextSearchTest, CancelledBeforeItRunsAsksNothing) {
  Put("a", 1);
  store->Reset();
  clock->DelayWork(2s);
  std::optional<AcquireResult> result;
  const AcquireHandle handle = AcquireNextAsync(engine(), Next({.wait = kForever}),
                                                [&](AcquireResult r) { result = std::move(r); });
  CancelAcquire(handle);
  clock->RunPending();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->failure->code, Errc::kCancelled);
  clock->Advance(1min);
  EXPECT_EQ(store->Count(OpKind::kAcquire), 0);
  clock->DelayWork(Duration{});
  EXPECT_FALSE(Stored("a").locked);
}

TEST_F(NextSearchTest, AStoreThatFailsIsToldWithoutADocumentsName) {
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kAcquire});
  const AcquireResult result = AcquireNext(engine(), Next(), {});
  ASSERT_TRUE(result.failure);
  EXPECT_TRUE(result.failure->message.starts_with("the next document of 'orders' could not be"))
      << result.failure->message;
}

class RarePollsTest : public NextSearchTest {
 protected:
  RarePollsTest() : NextSearchTest({.poll_min = 1min, .poll_max = 1min}) {}
};

TEST_F(RarePollsTest, AHintThatWokeACancelledSearchWakesTheNextOne) {
  Put("a", 1);
  Grant held = Lock("a");
  const auto first = NextLater(Next({.wait = kForever}));
  const auto second = NextLater(Next({.wait = kForever}));
  clock->DelayWork(1s);
  ASSERT_FALSE(ReleaseWith(held, {{"due", 1}}));
  CancelAcquire(first->handle);
  clock->Advance(5s);
  EXPECT_EQ(first->code(), Errc::kCancelled);
  EXPECT_TRUE(second->granted());
}

TEST_F(RarePollsTest, ADocumentThatFallsDueEndsTheWait) {
  ASSERT_FALSE(Insert("a", {{"at", Date(clock->WallTime() + 5s)}}));
  AcquireSpec spec = MakeSpec(engine(), *collection, {.wait = kForever}, 30s);
  spec.filter.Due("at");
  const TimePoint start = clock->Now();
  EXPECT_TRUE(AcquireNext(engine(), std::move(spec), {}).grant.lease);
  EXPECT_EQ(clock->Now() - start, 5s);
}

TEST_F(RarePollsTest, ALockThatEndsEndsTheWait) {
  Put("a", 1);
  Put("b", 2);
  const AcquireResult first = AcquireNext(engine(), Next({.ttl = 9s, .renew = false}), {});
  const AcquireResult second = AcquireNext(engine(), Next({.ttl = 5s, .renew = false}), {});
  ASSERT_TRUE(first.grant.lease && second.grant.lease);
  const TimePoint start = clock->Now();
  const AcquireResult result = AcquireNext(engine(), Next({.wait = kForever}), {});
  ASSERT_TRUE(result.grant.lease);
  EXPECT_EQ(LeaseKey(*result.grant.lease), Key("b"));
  EXPECT_EQ(clock->Now() - start, 5s);
}

/// While a store gives hints, it is asked only when a lock may end, and now and then.
TEST_F(NextSearchTest, AnIdleSearchBesideHeldDocumentsCostsFewRequests) {
  Put("a", 1);
  const AcquireResult held = AcquireNext(engine(), Next({.ttl = 1h}), {});
  const auto requests_in_a_minute = [&] {
    store->Reset();
    EXPECT_TRUE(AcquireNext(engine(), Next({.wait = 1min}), {}).failure);
    return store->Count(OpKind::kAcquire);
  };
  EXPECT_LE(requests_in_a_minute(), 85);
  EXPECT_GE(requests_in_a_minute(), 55) << "a process may have died";
  store->DropHints(true);
  EXPECT_TRUE(AcquireNext(engine(), Next({.wait = 1s}), {}).failure);
}

/// Searches that want different documents, and no poll in sight.
class DifferentSearchesTest : public RarePollsTest {
 protected:
  std::shared_ptr<Waiting> SearchFor(int due, LockOptions options = {.wait = kForever}) {
    return NextLater(Search("due", due, options));
  }
};

TEST_F(DifferentSearchesTest, AHintReachesTheSearchThatWantsTheDocument) {
  Put("a", 2);
  Grant held = Lock("a");
  const auto first = SearchFor(1);
  const auto second = SearchFor(3);
  const auto third = SearchFor(2);
  ASSERT_FALSE(ReleaseWith(held, {{"due", 2}}));
  clock->RunPending();
  EXPECT_TRUE(third->granted());
  EXPECT_FALSE(first->result || second->result);
}

TEST_F(DifferentSearchesTest, AHintOfADocumentThatNoneWantsIsAskedForOncePerWish) {
  Put("a", 4);
  Grant held = Lock("a");
  std::vector<std::shared_ptr<Waiting>> searches;
  for (int i = 0; i < 10; ++i) searches.push_back(SearchFor(1));
  searches.push_back(SearchFor(2));
  store->Reset();
  ASSERT_FALSE(ReleaseWith(held, {{"due", 4}}));
  clock->Advance(5s);
  EXPECT_EQ(store->Count(OpKind::kAcquire), 2);
  for (const auto& search : searches) EXPECT_FALSE(search->result);
}

TEST_F(DifferentSearchesTest, AHintThatWokeASearchWhoseTimeWasOverWakesTheNextOne) {
  Put("a", 2);
  Grant held = Lock("a");
  const auto first = SearchFor(1, {.wait = 5s});
  const auto second = SearchFor(2);
  clock->DelayWork(6s);
  ASSERT_FALSE(ReleaseWith(held, {{"due", 2}}));
  clock->Advance(20s);
  EXPECT_TRUE(second->granted());
  EXPECT_EQ(first->result->failure->code, Errc::kUnavailable) << "it had no answer for seconds";
}

TEST_F(DifferentSearchesTest, AHintThatWokeASearchWhichFailsWakesTheNextOne) {
  for (const auto kind : {Fault::Kind::kErrorBefore, Fault::Kind::kRefused, Fault::Kind::kThrow}) {
    const int due = static_cast<int>(kind);
    Put(due, due);
    Grant held = Lock(due);
    const auto first = SearchFor(due);
    const auto second = SearchFor(due);
    store->Inject({.kind = kind, .op = OpKind::kAcquire});
    ASSERT_FALSE(ReleaseWith(held, {{"due", due}}));
    clock->RunPending();
    if (kind == Fault::Kind::kErrorBefore) clock->Advance(1min);  // the store may be down
    EXPECT_TRUE(first->granted() || second->granted());
    for (const auto& search : {first, second}) {
      if (!search->result) CancelAcquire(search->handle);
    }
    clock->RunPending();
    EXPECT_FALSE(first->granted() && second->granted());
  }
}

TEST_F(DifferentSearchesTest, EqualSearchesCostTwoRequestsForEachDocument) {
  std::vector<std::shared_ptr<Waiting>> searches;
  for (int i = 0; i < 10; ++i) searches.push_back(SearchFor(1));
  clock->RunPending();
  store->Reset();
  for (int i = 0; i < 10; ++i) Put(i, 1);
  clock->RunPending();
  for (const auto& search : searches) EXPECT_TRUE(search->granted());
  EXPECT_LE(store->Count(OpKind::kAcquire), 20);
}

TEST_F(DifferentSearchesTest, EqualSearchesPollAsOne) {
  std::vector<std::shared_ptr<Waiting>> searches;
  for (int i = 0; i < 100; ++i) searches.push_back(SearchFor(1));
  clock->RunPending();
  store->Reset();
  clock->Advance(1min);
  EXPECT_LE(store->Count(OpKind::kAcquire), 81) << "a second of sleep, less a quarter";
}

TEST_F(DifferentSearchesTest, ASearchThatWasAskingWhenAHintCameIsNotLeftOut) {
  Put("a", 2);
  Grant held = Lock("a");
  const auto first = SearchFor(1);
  bool freed = false;
  store->before_reply = [&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind != OpKind::kAcquire || freed) return;
    freed = true;  // behind the second search's look, before it sleeps
    EXPECT_FALSE(ReleaseWith(held, {{"due", 2}}));
  };
  const auto second = SearchFor(2);
  clock->Advance(5s);
  EXPECT_TRUE(second->granted());
  EXPECT_FALSE(first->result);
}

TEST_F(DifferentSearchesTest, ACancelledSearchSaysNothingOfTheStore) {
  clock->DelayWork(2s);
  CancelAcquire(SearchFor(1)->handle);
  clock->Advance(1900ms);
  const auto second = SearchFor(1, {.wait = 10ms});
  clock->Advance(1min);
  EXPECT_EQ(second->code(), Errc::kUnavailable) << "it had no answer within a second";
}

TEST_F(DifferentSearchesTest, ASearchThatIsAlwaysGrantedTooLateLetsTheOthersAsk) {
  const auto hasty = SearchFor(1, {.ttl = 1s, .wait = kForever});
  const auto patient = SearchFor(1);
  int searches = 0;
  store->before_reply = [&](std::span<StoreOp* const> ops) {
    if (ops.front()->kind == OpKind::kAcquire && ++searches < 20) clock->Jump(2s);
  };
  Put("a", 1);
  clock->RunPending();
  EXPECT_TRUE(patient->granted());
  EXPECT_FALSE(hasty->result);
}

TEST_F(DifferentSearchesTest, AShortSearchHearsAnAnswerOfItsOwn) {
  store->DropHints(true);
  for (const auto delay : {0ms, 100ms}) {
    const int due = static_cast<int>(delay.count());
    const auto first = SearchFor(due);
    for (int i = 0; i < 3; ++i) Other().Insert(due + i, {{"due", due}});
    clock->Advance(1ms);
    clock->DelayWork(delay);
    const auto second = SearchFor(due, {.wait = 10ms});
    const auto third = SearchFor(due, {.wait = 250ms});
    const auto fourth = SearchFor(due, {.wait = 10ms});
    clock->Advance(1s);
    EXPECT_TRUE(first->granted() && second->granted() && third->granted()) << delay.count();
    EXPECT_EQ(fourth->code(), Errc::kNotFound) << delay.count();
    clock->DelayWork(0ms);
  }
}

/// As many searches ask at once as there are lanes.
class SearchesSideBySideTest : public DifferentSearchesTest {
 protected:
  struct LanesStore : TestStore {
    using TestStore::TestStore;
    [[nodiscard]] StoreTraits traits() const noexcept override {
      StoreTraits traits = TestStore::traits();
      traits.immediate = false;
      traits.lanes = 8;
      return traits;
    }
  };

  SearchesSideBySideTest() {
    manager.reset();
    store = std::make_shared<LanesStore>(OpenMemoryStore({.clock = clock}));
    manager.emplace(
        store, ManagerOptions{.poll_min = 1min, .poll_max = 1min, .runtime = clock->runtime()});
    collection = store->Open("orders", {}, 30s).get();
  }
};

TEST_F(SearchesSideBySideTest, OneThatAsksLaterHidesNoSilence) {
  const auto first = SearchFor(1, {.wait = 4s});
  const auto second = SearchFor(1, {.wait = 4s});
  clock->Advance(500ms);
  clock->DelayWork(1min);
  const auto third = SearchFor(1);
  clock->Advance(2500ms);
  const auto fourth = SearchFor(1);
  clock->Advance(1s);
  EXPECT_EQ(first->code(), Errc::kUnavailable) << "asked for 3.5 s without an answer";
  EXPECT_EQ(second->code(), Errc::kUnavailable);
  clock->Advance(2min);
}

TEST_F(NextSearchTest, ClosingWaitsForASearchUnderWay) {
  clock->DelayWork(1s);
  const auto search = NextLater(Next({.wait = kForever}));
  clock->DelayWork(0s);
  const TimePoint start = clock->Now();
  manager.reset();
  EXPECT_EQ(search->code(), Errc::kCancelled);
  EXPECT_EQ(clock->Now() - start, 1s);
}

/// Counts the doubts it is told of.
struct DoubtCounter : Observer {
  void OnInDoubt(const LockEvent& event) override { keys.push_back(event.key); }
  std::vector<Key> keys;
};

class NextInDoubtTest : public NextSearchTest {
 protected:
  explicit NextInDoubtTest(std::shared_ptr<DoubtCounter> counter = std::make_shared<DoubtCounter>())
      : NextSearchTest({.observer = counter}), told(std::move(counter)) {
    Put("a", 1);
    store->Reset();
  }

  /// One search that goes wrong.
  void Doubt(Fault::Kind kind) {
    store->Inject({.kind = kind, .op = OpKind::kAcquire});
    const TimePoint start = clock->Now();
    const AcquireResult result = AcquireNext(engine(), Next({.ttl = 10s, .wait = 1min}), {});
    EXPECT_EQ(CodeOf(result), Errc::kInDoubt);
    EXPECT_EQ(clock->Now(), start) << "told at once";
    EXPECT_EQ(store->Count(OpKind::kAcquire), 1) << "and not asked again";
    clock->RunPending();
    EXPECT_EQ(told->keys.size(), 1U);
  }
  void ExpectFound() {
    const AcquireResult found = AcquireNext(engine(), Next(), {});
    ASSERT_TRUE(found.grant.lease);
    EXPECT_EQ(found.grant.body.json()["due"], 1);
  }

  std::shared_ptr<DoubtCounter> told;
};

TEST_F(NextInDoubtTest, ADocumentKnownToBeTheOneIsGivenBack) {
  Doubt(Fault::Kind::kLostAfter);
  EXPECT_EQ(told->keys, std::vector<Key>{"a"});
  EXPECT_EQ(store->Count(OpKind::kWrite), 1);
  EXPECT_FALSE(Stored("a").locked);
  EXPECT_EQ(Stored("a").version, 3) << "inserted, locked once, released once";
  ExpectFound();
}

TEST_F(NextInDoubtTest, WhereNothingWasChosenThereIsNothingToGiveBack) {
  for (const auto kind : {Fault::Kind::kLostBefore, Fault::Kind::kThrow}) {
    store->Reset();
    told->keys.clear();
    Doubt(kind);
    EXPECT_EQ(told->keys, std::vector<Key>{Key()});
    clock->Advance(1min);
    EXPECT_EQ(store->Count(OpKind::kWrite), 0);
    EXPECT_FALSE(Stored("a").locked);
    ExpectFound();
    clock->RunPending();
  }
}

TEST_F(NextInDoubtTest, ALockOfAnUnknownDocumentEndsWithItsLease) {
  Doubt(Fault::Kind::kLate);
  ASSERT_EQ(store->ReleaseLate(), 1);
  EXPECT_TRUE(Stored("a").locked);
  clock->Advance(10s);
  EXPECT_FALSE(Stored("a").locked);
  EXPECT_EQ(store->Count(OpKind::kWrite), 0);
  EXPECT_EQ(Stored("a").version, 2) << "locked once";
  ExpectFound();
}

TEST_F(NextInDoubtTest, DoubtHoldsUpNoClosing) {
  Doubt(Fault::Kind::kLostBefore);
  const TimePoint start = clock->Now();
  manager.reset();
  EXPECT_EQ(clock->Now(), start);
}

}  // namespace
}  // namespace doclock::detail
