#include "two_stores.h"

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace doclock::conformance {
namespace {

/// Inserts documents until `is_heard`, which looks at one of them: a store may begin to listen some
/// time after it was asked to.
template <class IsHeard>
bool InsertUntil(Client& things, const IsHeard& is_heard) {
  for (int i = 0; i < 60; ++i) {
    const Key key = FreshId();
    things.Insert(key, {});
    if (IsSoon([&] { return is_heard(key); })) return true;
  }
  return false;
}

/// The hints that a client's store hears.
class Hearing {
 public:
  explicit Hearing(Client& client)
      : subscription_(client.store().Watch(client.collection(),
                                           [this](const LockHint& hint) { Hear(hint); })) {}

  /// Was there one of this key? Forgets it.
  bool Of(const Key& key) {
    const std::lock_guard guard(mutex_);
    return told_.erase(key.Hash()) == 1;
  }
  /// Was there one that hints may have been lost? Forgets it.
  bool OfAGap() {
    const std::lock_guard guard(mutex_);
    return std::exchange(gap_, false);
  }
  /// Does it hear of inserts?
  bool Hears(Client& things) {
    return InsertUntil(things, [this](const Key& key) { return Of(key); });
  }

 private:
  void Hear(const LockHint& hint) {
    const std::lock_guard guard(mutex_);
    hint.hash ? void(told_.insert(*hint.hash)) : void(gap_ = true);
  }

  std::mutex mutex_;
  std::set<std::size_t> told_;
  bool gap_ = false;
  const std::unique_ptr<Subscription> subscription_;
};

constexpr const char* kDeaf = "the other store hears of no insert";

class TwoStores : public OnTwoStores<StoreConformance> {};

class Hints : public OnTwoStores<StoreConformance> {
 protected:
  void SetUp() override {
    OnTwoStores<StoreConformance>::SetUp();
    if (others_ && !others_->traits().queues) GTEST_SKIP() << "waiters of other processes poll";
  }
};

TEST_P(Hints, TellOfInsertsAndSaves) {
  Hearing hearing(*others_);
  ASSERT_TRUE(hearing.Hears(things_)) << kDeaf;
  const SaveOp insert = things_.Insert("42", {});
  EXPECT_TRUE(IsSoon([&] { return hearing.Of("42"); }, 60s)) << "of the insert";
  ASSERT_EQ(things_.Replace("42", 1, insert.result.born, {{"a", 1}}).status, OpStatus::kDone);
  EXPECT_TRUE(IsSoon([&] { return hearing.Of("42"); }, 60s)) << "of the save";
}

TEST_P(Hints, TellThatSomeMayBeLost) {
  if (!backend().lose_hints) GTEST_SKIP() << "a test cannot reach this store's hints";
  EXPECT_EQ(FaultAfterAGap(things_, *others_, backend().lose_hints), "");
}

TEST_P(Hints, EndAfterTheCallThatIsUnderWay) { EXPECT_EQ(FaultAtTheEnd(things_, *others_), ""); }

TEST_P(TwoStores, OneThatMayNotCreateOpensWhatThereIs) {
  if (!backend().open_existing) GTEST_SKIP() << "this store has no such mode";
  things_.Insert("42", {});
  const std::shared_ptr<Store> existing = backend().open_existing();
  EXPECT_EQ(FaultOfExisting(*existing), "");
  EXPECT_EQ(Client(existing).Read("42").status, OpStatus::kDone);
}

INSTANTIATE_TEST_SUITE_P(Stores, TwoStores, ::testing::ValuesIn(AllStores()), NameOf);
INSTANTIATE_TEST_SUITE_P(Stores, Hints, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace

std::string FaultAfterAGap(Client& things, Client& others,
                           const std::function<void()>& lose_hints) {
  Hearing hearing(others);
  if (!hearing.Hears(things)) return kDeaf;
  hearing.OfAGap();
  lose_hints();
  if (!hearing.Hears(things)) return std::string(kDeaf) + " after a gap";
  const bool told = IsSoon([&] { return hearing.OfAGap(); });
  return told ? "" : "no hint says that others may have been lost";
}

std::string FaultAtTheEnd(Client& things, Client& others) {
  struct State {
    std::atomic<bool> called = false, may_return = false, ended = false, called_late = false;
  };
  const auto state = std::make_shared<State>();  // a listener that is called late needs it
  auto subscription = others.store().Watch(others.collection(), [state](const LockHint&) {
    if (state->ended) state->called_late = true;
    state->called = true;
    while (!state->may_return) std::this_thread::sleep_for(1ms);
  });
  // The call may be in the thread of the insert.
  std::jthread teller([&] {
    try {
      InsertUntil(things, [&](const Key&) { return state->called.load(); });
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  });
  const bool called = IsSoon([&] { return state->called.load(); }, 60s);
  std::jthread ender([&] {
    subscription.reset();
    state->ended = true;
  });
  const bool ended_early = called && IsSoon([&] { return state->ended.load(); }, 50ms);
  state->may_return = true;
  teller.join();
  ender.join();
  if (!called) return kDeaf;
  if (ended_early) return "a subscription has ended while its listener was called";
  things.Insert(Key(FreshId()), {});
  return state->called_late ? "a listener is called after its subscription's end" : "";
}

std::string FaultOfExisting(Store& existing) {
  for (const char* what : {"is created", "was created, although it is reported as missing"}) {
    try {
      existing.Open("missing", {}, kTtl);
      return std::string("a missing collection ") + what;
    } catch (const NotFoundException&) {
      continue;
    }
  }
  return "";
}

}  // namespace doclock::conformance
