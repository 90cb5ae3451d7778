#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rules/lock_state.h"
#include "rules/rules.h"

/// All small states of a lock: two holders, up to three shares; and of each moment that counts
/// three: over for a second, over just now, over in five seconds.
namespace doclock::rules::testing {

/// A small number as an id.
Uuid IdOf(int number);

inline const Uuid kHolder = IdOf(1), kOther = IdOf(2);
inline const Uuid kShares[] = {IdOf(11), IdOf(12), IdOf(13)};
inline const Uuid kFresh = IdOf(31);
inline const Uuid kEntries[] = {IdOf(61), IdOf(62), IdOf(63)};
inline const Uuid kBorn = IdOf(41), kMark = IdOf(51);
inline constexpr std::int64_t kVersion = 7;
inline constexpr std::chrono::milliseconds kTtl = std::chrono::seconds(10);
/// The present.
inline constexpr TimePoint kNow{std::chrono::hours(1)};

/// Calls `visit` with each of them.
void ForEachState(const std::function<void(const LockState&)>& visit);

/// Each of them with every queue of up to three waiters, exclusive and shared, whose entries are
/// over or not.
void ForEachQueuedState(const std::function<void(const LockState&)>& visit);

/// The violated invariant of a state; empty: none is violated.
std::string FaultOfState(const LockState& state);

/// Everything of two states is the same.
bool Same(const LockState& a, const LockState& b);
bool Same(const Lease& a, const Lease& b);

/// For messages.
std::string TextOf(const LockState& state);

/// Whether the rules let an operation be carried out. If they do not, it has its outcome.
inline bool Allows(StoreOp& op, std::optional<Refusal>&& refusal) {
  return !Settle(op, std::move(refusal));
}

}  // namespace doclock::rules::testing
