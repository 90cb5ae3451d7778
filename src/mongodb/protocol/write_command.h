#pragma once

#include <cstdint>

#include "doclock/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/protocol/statements.h"

namespace doclock::mongodb {

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

}  // namespace doclock::mongodb
