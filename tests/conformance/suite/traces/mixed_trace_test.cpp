#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model.h"
#include "player.h"
#include "trace.h"

// Traces of everything that stores must handle at once, against the model.

namespace doclock::conformance {
namespace {

std::string Listing(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line.substr(0, 2000);
  return text;
}

void CheckLines(const std::string& when, const Lines& found, const Lines& expected) {
  if (found == expected) return;
  RC_FAIL(when + Listing(found) + "\nbut expected" + Listing(expected));
}

class MixedTraces : public StoreConformance {
 protected:
  Surroundings Around() {
    Surroundings around{.spoil = backend().spoil != nullptr,
                        .plant = backend().plant != nullptr,
                        .transactions = things_.traits().transactions};
    const Key low(Uuid{}), middle(ObjectId{{1}}), high(Uuid{{2}});
    for (const Key& key : std::vector<Key>{"", 0, low, middle, high}) things_.Insert(key, {});
    const std::vector<Key> keys = things_.Query(Filter());
    for (const Key& key : keys) around.kinds_of_keys.push_back(key.value().index());
    const std::vector<Key> together{low, middle, high};
    around.bytes_together = std::ranges::search(keys, together).begin() != keys.end();
    return around;
  }
  void CheckAgainstModel(const Trace& trace) {
    Player player = NewPlayer(trace);
    Model model;
    int turns = 0;
    for (const Turn& turn : TurnsOf(trace.steps)) {
      const Lines found = player.Play(turn);
      CheckLines("call " + std::to_string(turns++), found, model.Play(turn, found));
    }
    CheckLines("at the end", player.LookAtAll(),
               model.LookAtAll(static_cast<int>(trace.keys.size())));
  }

 private:
  /// In a collection of its own, which is quicker than a store of its own.
  Player NewPlayer(const Trace& trace) {
    const std::string name = "trace" + std::to_string(++traces_);
    Player::Foreigners foreigners;
    foreigners.spoil = [this, name](const Key& key) { backend().spoil(name, key); };
    foreigners.plant = [this, name](const Key& key, const Body& body) {
      backend().plant(name, key, body);
    };
    return {Open(name), clock(), trace.keys, foreigners};
  }

  int traces_ = 0;
};

TEST_P(MixedTraces, AgreeWithTheModel) {
  const auto traces = conformance::MixedTraces(Around());
  EXPECT_TRUE(rc::check([&] { CheckAgainstModel(*traces); }));
}

INSTANTIATE_TEST_SUITE_P(Stores, MixedTraces, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
