#include <rapidcheck.h>

#include "conformance/model.h"

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
        gen::inRange(0, Step::kKinds), gen::inRange(0, 3), gen::inRange(0, 6), gen::inRange(0, 40),
        gen::map(gen::inRange(0, 8), [](int n) { return n == 0; }));
  }
};

}  // namespace rc

namespace doclock::conformance {
namespace {

class StoreProperties : public StoreConformance {
 protected:
  /// A collection of its own for each trace is quicker than a store of its own.
  std::vector<std::string> Play(const std::vector<Step>& steps) {
    const std::string name = "trace" + std::to_string(++traces_);
    return Player(Open(name), clock()).PlayStore(steps);
  }

 private:
  int traces_ = 0;
};

TEST_P(StoreProperties, RandomTracesAgreeWithTheModel) {
  EXPECT_TRUE(rc::check([this](const std::vector<Step>& steps) {
    RC_ASSERT(Play(steps) == Player::PlayModel(steps));
  }));
}

TEST_P(StoreProperties, LongTracesOnOneDocumentAgreeWithTheModel) {
  EXPECT_TRUE(rc::check([this] {
    const auto length = *rc::gen::inRange<std::size_t>(100, 300);
    auto steps = *rc::gen::container<std::vector<Step>>(length, rc::gen::arbitrary<Step>());
    for (Step& step : steps) step.key = 0;
    RC_ASSERT(Play(steps) == Player::PlayModel(steps));
  }));
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreProperties, ::testing::ValuesIn(AllStores()), NameOf);

void ExpectTheSameTraces(const std::vector<StoreKind>& kinds) {
  std::vector<Backend> backends;
  for (const StoreKind& kind : kinds) backends.push_back(kind.make());
  int traces = 0;
  EXPECT_TRUE(rc::check([&](const std::vector<Step>& steps) {
    const std::string name = "trace" + std::to_string(++traces);
    std::vector<std::string> first;
    for (Backend& backend : backends) {
      Client client(*backend.store, backend.store->Open(name, {}, kTtl));
      auto lines = Player(std::move(client), StoreTime(backend)).PlayStore(steps);
      if (first.empty()) first = lines;
      RC_ASSERT(lines == first);
    }
  }));
}

TEST(LocalStoresTogether, GiveTheSameTraces) { ExpectTheSameTraces(LocalStores()); }

TEST(AllStoresTogether, GiveTheSameTraces) { ExpectTheSameTraces(AllStores()); }

}  // namespace
}  // namespace doclock::conformance
