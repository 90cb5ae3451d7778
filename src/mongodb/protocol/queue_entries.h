#pragma once

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

// The entries of a document's queue, for commands. lockQueue is an array of
//   { id: UUID, until: date, ttl: ms, hold: ms, owner: {...}, group: text, share: limit,
//     wake: binary },
// absent when there are none. `share` is there if the waiter wants a share. The queue decides
// nothing about exclusion. So what a foreign program wrote there counts as an entry that is over,
// and the next write drops it.

inline constexpr std::int64_t kMostEntries = kMaxQueueEntries;

/// { $let: { vars, in } }
Doc Let(const Doc& vars, const Doc& in);

/// An expression: the live entries.
Doc LiveEntries(const Collection& collection);
/// The same without the entry of this id.
Doc LiveEntriesBut(const Collection& collection, const Uuid& id);

/// The entry of an attempt. @param instance of the store, which `wake` names
Doc EntryOf(const AcquireOp& op, const Uuid& instance);
/// An expression: $$others with this entry, in its place or as the last.
Doc WithEntry(const Uuid& id, const Doc& entry);
/// An expression: $$others has no entry of this id, and there is no room for one more.
Doc HasNoRoomFor(const Collection& collection, const Uuid& id);

}  // namespace doclock::mongodb
