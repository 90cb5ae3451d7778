#include <rapidcheck.h>

#include <array>
#include <string>
#include <vector>

#include "model.h"
#include "player.h"

namespace rc {

/// Steps on few documents by few holders, so that they meet.
template <>
struct Arbitrary<doclock::conformance::Step> {
  static Gen<doclock::conformance::Step> arbitrary() {
    using doclock::conformance::Step;
    return gen::apply(
        [](int kind, int key, int who, int number, bool stale) {
          return Step{static_cast<Step::Kind>(kind), key, who, number, stale};
        },
        gen::inRange(0, Step::kKinds), gen::inRange(0, 3), gen::inRange(0, Step::kMaxWho),
        gen::inRange(0, Step::kMaxNumber),
        gen::map(gen::inRange(0, 8), [](int n) { return n == 0; }));
  }
};

}  // namespace rc

namespace doclock::conformance {
namespace {

/// Fails a case with the first step that ended differently.
void CheckSame(const Lines& found, const Lines& expected) {
  RC_ASSERT(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i]) continue;
    RC_FAIL("step " + std::to_string(i) + "\n  " + found[i] + "\nbut expected\n  " + expected[i]);
  }
}

/// Many steps on one document.
std::vector<Step> LongTrace() {
  const auto length = *rc::gen::inRange<std::size_t>(100, 300);
  auto steps = *rc::gen::container<std::vector<Step>>(length, rc::gen::arbitrary<Step>());
  for (Step& step : steps) step.key = 0;
  return steps;
}

/// The same for shares, writers who want the lock meanwhile, and all that ends either.
std::vector<Step> TraceOfShares() {
  using Kind = Step::Kind;
  static constexpr std::array<Kind, Step::kKinds> kKinds{
      Kind::kShare,           Kind::kShare,      Kind::kShare,          Kind::kShare,
      Kind::kCreateShared,    Kind::kRenewShare, Kind::kRenewShare,     Kind::kAcquire,
      Kind::kAcquire,         Kind::kRelease,    Kind::kReleaseShare,   Kind::kSaveErase,
      Kind::kReplace,         Kind::kExpire,     Kind::kBreak,          Kind::kSteal,
      Kind::kPurge,           Kind::kPurge,      Kind::kAdvance,        Kind::kAdvance,
      Kind::kReleaseWithNote, Kind::kShareAgain, Kind::kShareAgain,     Kind::kAcquireForLong,
      Kind::kShareAgain,      Kind::kNext,       Kind::kHandOverForLong};
  std::vector<Step> steps = LongTrace();
  for (Step& step : steps) {
    step.kind = kKinds[static_cast<std::size_t>(step.kind)];
  }
  return steps;
}

class StoreProperties : public StoreConformance {
 protected:
  /// A collection of its own for each trace is quicker than a store of its own.
  void CheckAgainstModel(const std::vector<Step>& steps) {
    const std::string name = "trace" + std::to_string(++traces_);
    CheckSame(PlayAll(Player(Open(name), clock()), steps), PlayAll(Model(), steps));
  }

 private:
  int traces_ = 0;
};

TEST_P(StoreProperties, RandomTracesAgreeWithTheModel) {
  EXPECT_TRUE(rc::check([this](const std::vector<Step>& steps) { CheckAgainstModel(steps); }));
}

TEST_P(StoreProperties, LongTracesOnOneDocumentAgreeWithTheModel) {
  EXPECT_TRUE(rc::check([this] { CheckAgainstModel(LongTrace()); }));
}

TEST_P(StoreProperties, LongTracesOfSharesAgreeWithTheModel) {
  EXPECT_TRUE(rc::check([this] { CheckAgainstModel(TraceOfShares()); }));
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreProperties, ::testing::ValuesIn(AllStores()), NameOf);

void ExpectTheSameTraces(const std::vector<StoreKind>& kinds) {
  std::vector<Backend> backends;
  for (const StoreKind& kind : kinds) backends.push_back(kind.make());
  int traces = 0;
  EXPECT_TRUE(rc::check([&](const std::vector<Step>& steps) {
    const std::string name = "trace" + std::to_string(++traces);
    Lines first;
    for (Backend& backend : backends) {
      Client client(backend.store, name);
      auto lines = PlayAll(Player(std::move(client), StoreTime(backend)), steps);
      if (first.empty()) first = lines;
      CheckSame(lines, first);
    }
  }));
}

TEST(LocalStoresTogether, GiveTheSameTraces) { ExpectTheSameTraces(LocalStores()); }

TEST(AllStoresTogether, GiveTheSameTraces) { ExpectTheSameTraces(AllStores()); }

}  // namespace
}  // namespace doclock::conformance
