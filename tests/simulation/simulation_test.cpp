/// Several processes, one database, and everything that can go wrong between them, on one thread:
/// see docs/maintaining/testing.md.

#include "simulation/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "simulation/play/pinned.h"
#include "simulation/play/random.h"
#include "simulation/play/report.h"

namespace doclock::simulation {
namespace {

std::uint64_t NumberFrom(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Says on stderr how far a long run has come.
class Progress {
 public:
  explicit Progress(std::uint64_t seeds) : seeds_(seeds) {}
  void Played(std::uint64_t number, const Outcome& outcome) {
    events_ += outcome.events;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(10)) return;
    last_ = now;
    std::cerr << "[figures] simulation: " << number << " of " << seeds_ << " seeds, " << events_
              << " events\n";
  }

 private:
  const std::uint64_t seeds_;
  std::uint64_t events_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

TEST(Simulation, KeepsEveryRule) {
  const std::uint64_t seeds = NumberFrom("DOCLOCK_SIMULATION_SEEDS", 1000);
  const std::uint64_t first = NumberFrom("DOCLOCK_SIMULATION_FIRST", 1);
  Progress progress(seeds);
  for (std::uint64_t i = 0; i < seeds; ++i) {
    const Plan plan = MakePlan(first + i);
    const Outcome outcome = Simulate(plan);
    progress.Played(i + 1, outcome);
    if (!outcome.violation) continue;
    FAIL() << ShrunkStory(plan, Breakage::kNone, *outcome.violation);
  }
}

TEST(Simulation, IsTheSameEachTime) {
  std::uint64_t digest = 0;  // to compare compilers and machines by
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome once = Simulate(MakePlan(seed), Breakage::kNone, true);
    const Outcome again = Simulate(MakePlan(seed), Breakage::kNone, true);
    ASSERT_EQ(once.story, again.story) << "seed " << seed;
    ASSERT_EQ(once.trace, again.trace) << "seed " << seed;
    digest = Mix(digest, once.trace);
    for (const std::string& line : once.story) digest = Mix(digest, HashOf(line));
  }
  RecordProperty("digest", std::to_string(digest));
}

/// The simulation can fail: each of these is noticed.
class BreakageTest : public ::testing::TestWithParam<NamedBreakage> {};

TEST_P(BreakageTest, IsNoticed) {
  constexpr std::uint64_t kSeeds = 300;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Outcome outcome = Simulate(MakePlan(seed), GetParam().what);
    const std::string_view rule = GetParam().rule;
    if (!outcome.violation || (!rule.empty() && outcome.violation->rule != rule)) continue;
    RecordProperty("seed", std::to_string(seed));
    RecordProperty("rule", outcome.violation->rule);
    return;
  }
  FAIL() << kSeeds << " seeds have not noticed it";
}

INSTANTIATE_TEST_SUITE_P(All, BreakageTest, ::testing::ValuesIn(kBreakages),
                         [](const auto& broken) { return std::string(broken.param.name); });

/// What a seed has found once is not there any more, and the seed would find it again.
TEST(Simulation, RemembersWhatSeedsHaveFound) {
  for (const PinnedSeed& pinned : kPinnedSeeds) {
    SCOPED_TRACE("seed " + std::to_string(pinned.seed) + ": " + std::string(pinned.found));
    const Plan plan = MakePlan(pinned.seed);
    const Outcome now = Simulate(plan);
    EXPECT_FALSE(now.violation) << ShrunkStory(plan, Breakage::kNone, *now.violation);
    const Outcome then = Simulate(plan, pinned.brings_back);
    ASSERT_TRUE(then.violation) << "another seed is needed";
    EXPECT_EQ(then.violation->rule, pinned.rule) << "another seed is needed";
  }
}

/// A story of a failure is short enough to read.
TEST(Simulation, ShrinksAFailure) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Plan plan = MakePlan(seed);
    const Outcome outcome = Simulate(plan, Breakage::kGrantsTooEarly);
    if (!outcome.violation) continue;
    const std::string story = ShrunkStory(plan, Breakage::kGrantsTooEarly, *outcome.violation);
    EXPECT_NE(story.find("VIOLATION"), std::string::npos) << story;
    EXPECT_LT(std::count(story.begin(), story.end(), '\n'), 60) << story;
    return;
  }
  FAIL() << "nothing failed";
}

}  // namespace
}  // namespace doclock::simulation
