#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace doclock::mongo_test {

/// What a process held, by the clock that all share, in nanoseconds.
struct Hold {
  std::int64_t sent = 0, from = 0, to = 0, token = 0, waited_ms = 0;
  std::string who;
  bool open = false;  ///< It had it when it was killed.
};

/// The holds that a process tells of; of several workers at most one has the lock.
inline std::vector<Hold> HoldsIn(const std::vector<std::string>& lines, const std::string& who) {
  std::vector<Hold> holds;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "got") {
      Hold& hold = holds.emplace_back();
      words >> hold.sent >> hold.from >> hold.token >> hold.waited_ms;
      hold.who = who;
      hold.open = true;
    } else {
      EXPECT_FALSE(holds.empty() || !holds.back().open) << line;
      if (holds.empty()) break;
      words >> holds.back().to;
      holds.back().open = false;
    }
  }
  return holds;
}

/// No two holds overlap. That of a killed process lasts as long as the lease of its grant.
inline void CheckExclusion(std::vector<Hold> holds, std::chrono::nanoseconds ttl) {
  std::sort(holds.begin(), holds.end(),
            [](const Hold& a, const Hold& b) { return a.from < b.from; });
  for (std::size_t i = 1; i < holds.size(); ++i) {
    const Hold& before = holds[i - 1];
    const std::int64_t end = before.open ? before.sent + ttl.count() : before.to;
    EXPECT_GE(holds[i].from, end) << holds[i].who << " beside " << before.who;
  }
}

/// The fences of doclock's holds rise, in the order of the grants.
inline void CheckFences(std::vector<Hold> ours) {
  std::sort(ours.begin(), ours.end(), [](const Hold& a, const Hold& b) { return a.from < b.from; });
  for (std::size_t i = 1; i < ours.size(); ++i) EXPECT_GT(ours[i].token, ours[i - 1].token);
}

/// How many of these holds there were at one time.
inline int MostAtOnce(const std::vector<Hold>& holds) {
  std::vector<std::pair<std::int64_t, int>> steps;
  for (const Hold& hold : holds) {
    if (hold.open) continue;
    steps.emplace_back(hold.from, 1);
    steps.emplace_back(hold.to, -1);
  }
  std::sort(steps.begin(), steps.end());
  int now = 0, most = 0;
  for (const auto& [time, step] : steps) most = std::max(most, now += step);
  return most;
}

inline std::vector<Hold> Join(const std::vector<std::vector<Hold>>& some) {
  std::vector<Hold> all;
  for (const auto& one : some) all.insert(all.end(), one.begin(), one.end());
  return all;
}

}  // namespace doclock::mongo_test
