#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "step.h"

namespace doclock::conformance {

// How stores and model say what they did and what there is: in the same words.

// Holders beside the numbers of attempts.
inline constexpr int kNobody = 0;
inline constexpr int kStranger = -1;
inline constexpr int kShared = -2;

inline constexpr const char* kDone = "done";
inline constexpr const char* kMissing = "missing";
inline constexpr const char* kNotHeld = "not held";
inline constexpr const char* kRefused = "refused";

/// What there is.
struct Picture {
  std::int64_t version = 0;
  int holder = kNobody;
  int left = 0;               ///< of a live lock's lease, in ticks
  std::map<int, int> shares;  ///< live ones by attempt, and what is left of each
  int value = 0;
};

std::string TextOf(const Picture& picture);
std::string GrantedText(bool created, bool took_over);
std::string NextText(int key, bool took_over);
/// Somebody else has it for so many ticks.
std::string BusyText(int ticks);
std::string LineOf(const Step& step, const std::string& said, const std::string& seen);

}  // namespace doclock::conformance
