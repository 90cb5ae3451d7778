#pragma once

#include <optional>

#include "doclock/export.h"
#include "rules/lock_state.h"
#include "rules/refusal.h"

namespace doclock::rules {

// Optimistic writes, without a lock.

/// Why this save may not be carried out on the stored document, or on none if `state` is null; none
/// if it may. Version and incarnation must match (kConflict), and no lock may be live (kBusy)
/// unless it only expects the document.
[[nodiscard]] DOCLOCK_EXPORT std::optional<Refusal> WhyNotSave(const SaveOp& op,
                                                               const LockState* state,
                                                               TimePoint now);

/// Carries out one that writes, once the body is in place: kDone. Clears the expired lock, and
/// passes it on to the first of the queue. An insert finds `state` empty except for its
/// incarnation; an erasure only sets its version. Returns whether this concerns waiters: it cleared
/// a lock, or granted it to one of them. The store then notifies them.
DOCLOCK_EXPORT bool Save(SaveOp& op, LockState& state, TimePoint now);

}  // namespace doclock::rules
