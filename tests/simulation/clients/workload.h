#pragma once

#include <array>
#include <memory>
#include <string>

#include "simulation/clients/program.h"
#include "simulation/play/plan.h"
#include "simulation/play/story.h"

namespace doclock::simulation {

/// The documents that are there from the beginning. Those that begin with e may be erased.
inline constexpr std::array kDocuments = {"a", "b", "e1"};
/// A document that is missing at first.
inline constexpr const char* kMissing = "e2";
/// The named locks: one that is held exclusively, and one that two may share.
inline constexpr std::array kNames = {"mutex", "semaphore"};
inline constexpr int kShares = 2;

/// Does one operation, on a thread of the program. Throws nothing.
void Play(const std::shared_ptr<Program>& program, Story& story, const Operation& operation);

/// When all faults are over: each lock can be had.
void LockEverything(const std::shared_ptr<Program>& program, Story& story);

}  // namespace doclock::simulation
