#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulation/world.h"

namespace doclock::simulation {

/// What a client of a process does.
enum class Verb : std::uint8_t {
  kLock,        ///< Locks a document, holds it, writes or not, and gives it back in some way.
  kLockEntity,  ///< The same, and creates a missing document.
  kLockNext,
  kLockAll,
  kTransfer,  ///< Locks documents and a name, and moves an amount between documents.
  kMove,      ///< The same by version, without a lock.
  kReadTogether,
  kLetter,  ///< Releases a document by value that another client has sent with its lock.
  kFind,
  kSearch,  ///< Reads all documents, and saves one of them by version.
  kSave,    ///< Reads and saves by version.
  kUpdate,
  kInsert,
  kErase,
  kName,         ///< Holds a named lock.
  kShare,        ///< Holds a share, of two at most, or the whole lock.
  kNames,        ///< Holds all named locks.
  kForgettable,  ///< Holds a named lock that a purge may forget.
  kCrowd,        ///< Waits for a named lock, and holds it for a moment.
  kRenewGroup,
  kReleaseGroup,
  kBreak,
  kPurge,
};

struct Operation {
  Time at{};
  int process = 0;
  Verb verb = Verb::kLock;
  std::uint64_t luck = 0;  ///< Seeds everything else about it.
};

/// What goes wrong for a while.
struct Fault {
  enum class Kind : std::uint8_t {
    kLoseRequests,
    kLoseReplies,
    kRepeat,
    kLate,
    kSlow,
    kCut,
    kLoseHints,
    kSlowHints,
    kPause,
    kDrift,      ///< The clock is a little slow or fast, within the margin.
    kSlowClock,  ///< Beyond it.
    kFastClock,
    kStopClock,
    kJumpClock,
    kKill,
    kClose,  ///< The program closes its manager; another one is started.
    kFailOver,
    kDepose,  ///< The others elect a new primary, and the old one goes on serving one process.
    kNoMajority,
    kLeapDatabaseClock,
  };
  Kind kind = Kind::kCut;
  Time from{};
  Time to{};
  int process = 0;
  std::int64_t amount = 0;
};

/// All of one run but the luck of its messages and threads, which comes from the seed too.
struct Plan {
  std::uint64_t seed = 0;
  int processes = 0;
  std::vector<Operation> operations;
  std::vector<Fault> faults;
};

/// Operations begin, and faults end, before this.
inline constexpr Time kFaultsEnd = std::chrono::seconds(20);

/// Each seed has verbs and faults of its own choice, so that some runs have few.
Plan MakePlan(std::uint64_t seed);

/// "p1 is paused from 1.5 s to 3 s"
std::string TextOf(const Fault& fault);

}  // namespace doclock::simulation
