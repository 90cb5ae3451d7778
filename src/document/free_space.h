#pragma once

#include <cstdint>

#include "doclock/store/store.h"

namespace doclock::detail {

/// Judges the free space, in bytes, of the disk that holds the documents.
inline Finding JudgeFreeSpace(std::uint64_t bytes) {
  constexpr std::uint64_t kMebi = 1024 * 1024, kScarce = 1024 * kMebi, kGone = 64 * kMebi;
  Finding finding{"disk", FindingLevel::kOk, std::to_string(bytes / kMebi) + " MiB are free"};
  if (bytes >= kScarce) return finding;
  finding.level = bytes >= kGone ? FindingLevel::kWarning : FindingLevel::kProblem;
  finding.advice = "make room: on a full disk no lock can be taken";
  return finding;
}

}  // namespace doclock::detail
