#pragma once

#include <cstdint>
#include <string>

#include "doclock/store/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/statements/stored_lock.h"
#include "mongodb/statements/update.h"

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

/// The document under its holder's lock. @param seen what a read has shown, or null; a release by
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

/// An acquire's outcome after its statement matched nothing, from what a read showed. Returns true;
/// false if it is worth another attempt.
bool JudgeAcquire(AcquireOp& op, const StoredLock* seen);

// Writes as statements of commands: several of one verb and one collection make one command.

enum class Verb : std::uint8_t { kUpdate, kDelete, kInsert };

/// One statement of a command.
struct Statement {
  Verb verb = Verb::kUpdate;
  Doc doc{};  ///< As the command takes it.
};

/// The server refuses a command of 24 MB.
inline constexpr std::uint32_t kMostCommandBytes = 12u << 20;

/// The command that an acquire, a write or a save is a statement of.
Verb VerbOf(const StoreOp& op);

Doc DeleteStatement(const Doc& filter);
Doc UpdateStatement(const Doc& filter, const Update& update, bool upsert = false);
Doc PipelineStatement(const Doc& filter, const Array& stages);
/// A write under the lock. @param seen see HeldFilter @throws DocumentException
Doc StatementOf(const WriteOp& op, ReleaseTo to, const StoredLock* seen = nullptr);
/// A grant, without the queue. @param seen a lock that a look has shown, and that can be granted;
/// or null @param born of the document that it may make; nil: none
Doc StatementOf(const AcquireOp& op, const StoredLock* seen, const Uuid& born);
/// An optimistic write. @param seen a lock that a look has shown, and in whose place the rules
/// allow the save, whose result this fills in; or null @param born of the document that kInsert
/// makes
/// @throws DocumentException
Doc StatementOf(SaveOp& op, const StoredLock* seen, const Uuid& born);

/// The statement of an update, so that the server says by its index if it matches nothing: it would
/// make a document then, of another key than its filter asks for, which is an error of its own
/// (CommandResult::met_nothing). One that may make a document says so already, by its duplicate
/// key.
Doc Told(const Doc& statement, const Collection& collection);

/// The command of these statements. @param ordered does it end at the first that fails?
Doc CommandOf(Verb verb, const Collection& collection, const Array& statements, bool ordered);

/// A condition of a filter: the field is as this document shows it, by value, type and presence. A
/// comparison alone takes an array for each of its elements, null for a missing field, and one type
/// of number for another.
void AddAsSeen(Doc& filter, const std::string& field, const bson_t& seen);

/// A change of a document that the rules decided here, from what was read before: a write under its
/// lock, or in place of one that is over, an exclusive grant, a lock that is given up or cleared,
/// or a waiter that leaves. No renewal.
struct LockChange {
  const Collection& collection;
  const Key& key;
  const StoredLock& was;  ///< With `seen`.
  const rules::LockState& now;
  Body body{};  ///< From now on; none: it stays as it is.
  Body base{};  ///< What differs from this one is sent.
  bool erases = false;
};

/// The statement of an update, or of a delete. It matches only while the document shows what the
/// decision rested on, so other clients may write meanwhile. What the rules say of a time that is
/// over stays true while the fields stay.
Doc StatementOf(const LockChange& change);

}  // namespace doclock::mongodb
