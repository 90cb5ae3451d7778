#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "step.h"

namespace doclock::conformance {

// The words in which stores and model report what they did and what is stored.

using Json = nlohmann::json;
using Lines = std::vector<std::string>;

// Holders beside the numbers of attempts.
inline constexpr int kNobody = 0;
inline constexpr int kStranger = -1;
inline constexpr int kShared = -2;

inline constexpr const char* kDone = "done";
inline constexpr const char* kMissing = "missing";
inline constexpr const char* kLost = "lost";
inline constexpr const char* kNotHeld = "not held";
inline constexpr const char* kClosed = "closed";
inline constexpr const char* kRefused = "refused";
inline constexpr const char* kConflict = "conflict";
inline constexpr const char* kMalformed = "malformed";
inline constexpr const char* kThereAlready = "there already";

/// The field that may have a unique index.
inline constexpr const char* kUniqueField = "tag";

/// The state of a document.
struct Picture {
  std::int64_t version = 0;
  int holder = kNobody;
  int left = 0;               ///< of a live lock's lease, in ticks
  std::map<int, int> shares;  ///< live ones by attempt, and what is left of each
  Json body = Json::object();
};

/// A lock that was granted.
struct Granted {
  bool created = false;
  bool took_over = false;
  std::int64_t version = 0;
  Json body = Json::object();
};

/// How lists of locks and queries show a document.
struct Listed {
  int live = 0;  ///< how many live locks
  bool closed = false;
  bool has_body = false;
};

std::string TextOf(const Picture& picture);
std::string TextOf(const Granted& granted);
std::string TextOf(const Listed& listed);
std::string NextText(int key, const Granted& granted);
std::string RowText(std::int64_t version, bool locked, const Json& body);
/// A write, and the version after it.
std::string WrittenText(std::int64_t version);
/// Another client has it for this many ticks.
std::string BusyText(int ticks);
/// A unique index refuses it.
std::string ConflictText(const std::string& index);
/// One write of a commit, and what became of it.
std::string PartText(const Step& part, const std::string& said);
std::string LineOf(const Step& step, const std::string& said, const std::string& seen);

/// One after the other.
std::string Joined(const Lines& lines);

/// What a Player or a Model says of the steps, turn by turn.
template <class Plays>
Lines PlayAll(Plays&& plays, const std::vector<Step>& steps) {
  Lines lines;
  for (const Turn& turn : TurnsOf(steps)) {
    for (std::string& line : plays.Play(turn)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace doclock::conformance
