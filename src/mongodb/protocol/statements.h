#pragma once

#include "doclock/store.h"
#include "mongodb/protocol/stored_lock.h"
#include "mongodb/protocol/update.h"

namespace doclock::mongodb {

// What the operations ask of a document and do to it: the same in a command of their own and as
// one statement among others.

/// Looks and takes that may follow each other while others are faster.
inline constexpr int kMaxAttempts = 4;

/// The document that an acquire takes before it has looked: a free one.
Doc AcquireFilter(const AcquireOp& op);
/// The grant. `born`: of the document, should it be made by this; nil where it must exist.
Update AcquireUpdate(const AcquireOp& op, const Uuid& born);
/// After this look, is the attempt to be decided where the queue is: does it leave an entry, or
/// meet a queue at a free lock? Else the look has said all.
bool MeetsQueue(const AcquireOp& op, const StoredLock& seen);
/// Can an upsert make the missing document and grant its lock at once?
bool CanUpsert(const AcquireOp& op);

/// How a release treats the queue.
enum class ReleaseTo : std::uint8_t {
  kNobody,  ///< It leaves the queue as it is; a plain release matches only if there is none.
  kFirst,   ///< It passes the lock on to the first of the queue.
};
/// A release that frees the lock, and so has to pass it on if others wait.
bool IsPlainRelease(const WriteOp& op) noexcept;
/// How a write under the lock is sent first: most documents have no queue.
/// @param met does a look show one?
ReleaseTo ReleaseToOf(const WriteOp& op, bool met = false) noexcept;

/// The document under its holder's lock. @param seen what a look has shown, or null; a release by
/// value, which knows no version, matches that one only
Doc HeldFilter(const WriteOp& op, ReleaseTo to, const StoredLock* seen = nullptr);
/// What a write under the lock changes; not for kErase.
Update HeldUpdate(const WriteOp& op, ReleaseTo to);

/// The document that an optimistic save expects before it has looked: a free one.
Doc SaveFilter(const SaveOp& op);
/// The document that kExpect expects; locked or not.
Doc ExpectFilter(const SaveOp& op);
/// What it changes; for kReplace.
Update SaveUpdate(const SaveOp& op);
/// The document that kInsert makes. @param mark of the save
Doc NewDocument(const Collection& collection, const Key& key, const Body& body, const Uuid& born,
                const Uuid& mark);

/// An acquire's outcome after its statement matched nothing, from what a look showed. False: it is
/// worth another attempt.
bool JudgeAcquire(AcquireOp& op, const StoredLock* seen);

}  // namespace doclock::mongodb
