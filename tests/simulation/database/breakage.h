#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace doclock::simulation {

/// What a test breaks on purpose, to see that the simulation notices.
enum class Breakage : std::uint8_t {
  kNone,
  kRenewsWithoutLooking,  ///< A renewal takes back a lock that was lost.
  kGrantsTooEarly,        ///< Takes over a lease a fifth of a second before its end.
  kWritesWithoutGuard,    ///< A holder's write goes through whoever holds the lock.
  kSavesWithoutGuard,     ///< A save by version goes through at any version.
  kOneShareTooMany,       ///< Grants one share more than the limit.
  kForgetsAcknowledged,   ///< Replies before a majority has the write.
  kReadsStale,            ///< A read shows what a document was a second ago.
  kHidesSuccess,          ///< Some writes are done, and reported as refused.
  kInventsSuccess,        ///< Some refused writes are reported as done.
  kReusesVersions,        ///< A grant does not raise the version.
  kCompletesTwice,        ///< Some completions come twice.
  kNeverCompletes,        ///< Some completions are dropped.
  kKeepsLocks,            ///< A release leaves the lock to its lease, and renews it for an hour.
  kReadsBackwards,        ///< The second read of a write that nobody was told of shows the former.
  kIgnoresIndexes,        ///< A unique index refuses nothing.
  kDeposedAcknowledges,   ///< A deposed primary answers as if a majority had what it did.
  kSearchesUnsure,        ///< A search of a deposed primary shows what no majority has.
  kIgnoresBreaks,         ///< The lock of another client is not ended, and said to be.
  kForgetsMembers,        ///< Of a group only the first lock is listed.
  kPurgesLiveLocks,       ///< A purge clears live locks too.
  kOvertakes,             ///< Some callers learn after later ones that they have waited enough.
  kHandsOverForEver,      ///< A process never stands back.
  kReordersQueues,        ///< Two waiters of a queue change places.
  kSkipsWaiters,          ///< The second of a queue is granted the lock in place of the first.
  kLetsSharesPass,        ///< A share is granted although a writer waits before it.
  kGrantsToNobody,        ///< A release grants the lock under an id of its own.
  kStoresHalf,            ///< A transaction that is refused is stored up to where it was.
};

struct NamedBreakage {
  Breakage what;
  std::string_view name;
  std::string_view rule = {};  ///< The rule that has to notice it; empty: any.
};

inline constexpr std::array kBreakages = {
    NamedBreakage{Breakage::kRenewsWithoutLooking, "RenewsWithoutLooking"},
    NamedBreakage{Breakage::kGrantsTooEarly, "GrantsTooEarly"},
    NamedBreakage{Breakage::kWritesWithoutGuard, "WritesWithoutGuard"},
    NamedBreakage{Breakage::kSavesWithoutGuard, "SavesWithoutGuard"},
    NamedBreakage{Breakage::kOneShareTooMany, "OneShareTooMany"},
    NamedBreakage{Breakage::kForgetsAcknowledged, "ForgetsAcknowledged"},
    NamedBreakage{Breakage::kReadsStale, "ReadsStale"},
    NamedBreakage{Breakage::kHidesSuccess, "HidesSuccess"},
    NamedBreakage{Breakage::kInventsSuccess, "InventsSuccess"},
    NamedBreakage{Breakage::kReusesVersions, "ReusesVersions"},
    NamedBreakage{Breakage::kCompletesTwice, "CompletesTwice"},
    NamedBreakage{Breakage::kNeverCompletes, "NeverCompletes"},
    NamedBreakage{Breakage::kKeepsLocks, "KeepsLocks"},
    NamedBreakage{Breakage::kReadsBackwards, "ReadsBackwards", "reads never go back"},
    NamedBreakage{Breakage::kIgnoresIndexes, "IgnoresIndexes", "a unique index holds"},
    NamedBreakage{Breakage::kDeposedAcknowledges, "DeposedAcknowledges",
                  "what is acknowledged is there"},
    NamedBreakage{Breakage::kSearchesUnsure, "SearchesUnsure", "reads see what was written"},
    NamedBreakage{Breakage::kIgnoresBreaks, "IgnoresBreaks", "a broken lock is free"},
    NamedBreakage{Breakage::kForgetsMembers, "ForgetsMembers", "a group is released as a whole"},
    NamedBreakage{Breakage::kPurgesLiveLocks, "PurgesLiveLocks",
                  "at most one holder, or the limit"},
    NamedBreakage{Breakage::kOvertakes, "Overtakes", "no waiter of a process is passed"},
    NamedBreakage{Breakage::kHandsOverForEver, "HandsOverForEver",
                  "other processes get their turn"},
    NamedBreakage{Breakage::kReordersQueues, "ReordersQueues", "a waiter keeps its place"},
    NamedBreakage{Breakage::kSkipsWaiters, "SkipsWaiters",
                  "no waiter is skipped while its entry is live"},
    NamedBreakage{Breakage::kLetsSharesPass, "LetsSharesPass",
                  "no waiter is skipped while its entry is live"},
    NamedBreakage{Breakage::kGrantsToNobody, "GrantsToNobody",
                  "no grant without an entry or an attempt"},
    NamedBreakage{Breakage::kStoresHalf, "StoresHalf", "a sum of several documents is kept"},
};

}  // namespace doclock::simulation
