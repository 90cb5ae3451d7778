#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "doclock/document.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/store/operations.h"
#include "doclock/store/store.h"
#include "rules/lock_state.h"

namespace doclock::locking {

/// When a unit has to be through. On the ordinary steady clock, not that of the leases.
using Deadline = std::chrono::steady_clock::time_point;

/// What is stored of one document.
struct Entry {
  rules::LockState lock;
  Body body;
};

/// What the program asks for before it loads a document.
struct Asked {
  /// The whole document of this key.
  Asked(Collection& c, OpKey k) noexcept : collection(&c), key(k.key), hash(k.hash) {}
  /// What an operation needs of the document that it names.
  explicit Asked(const StoreOp& op) noexcept
      : collection(op.collection),
        key(op.key),
        hash(op.hash),
        lock_only(NeedsNoBody(op)),
        acquires(op.kind == OpKind::kAcquire),
        expected(ExpectedBy(op)) {}

  Collection* collection;
  const Key* key;
  std::size_t hash;
  /// One operation alone decides, and what it decides is committed or fails as a whole.
  bool alone = false;
  /// With `alone`: the database may wait until then for the document, while another client's
  /// transaction holds it. All else should have the unit's deadline.
  Deadline patience = Deadline::max();
  bool lock_only = false;               ///< Nothing looks at the body: the entry may lack it.
  bool acquires = false;                ///< It is for an attempt to take the lock.
  std::int64_t expected = kAnyVersion;  ///< The version that a writer under the lock knows.

 private:
  static bool NeedsNoBody(const StoreOp& op) noexcept {
    if (op.kind == OpKind::kSave) return !static_cast<const SaveOp&>(op).request.Writes();
    if (op.kind != OpKind::kWrite) return op.kind == OpKind::kRenew;
    const auto& write = static_cast<const WriteOp&>(op);
    return !write.request.merge && (!write.request.body || write.request.base);
  }
  static std::int64_t ExpectedBy(const StoreOp& op) noexcept {
    return op.kind == OpKind::kWrite ? static_cast<const WriteOp&>(op).request.expected
                                     : kAnyVersion;
  }
};

/// What Unit::Load has found.
struct Loaded {
  /// The document as it stands; null: there is none, or it is malformed. It stays where it is until
  /// the unit commits, loads again, scans or is destroyed.
  const Entry* entry = nullptr;
  /// There is a document, and its lock is not what this library writes.
  bool malformed = false;
  const char* bad_part = nullptr;  ///< The part that is malformed; null: not known.
  /// Another client's transaction holds it, and the unit, which has others too, does not wait. Then
  /// the program decides nothing.
  bool blocked = false;
};

/// Whom a decision concerns besides the client that made it. A database tells them once it is
/// committed, and never of one that may not be stored.
enum class Notice : std::uint8_t {
  kNobody,
  /// The lock became free, or was granted to the first of its queue (LockState::passed_on). Or a
  /// free document was inserted or saved, for which a search may wait.
  kWaiters,
};

/// What the rules have decided.
struct Decision {
  std::optional<Entry> entry;  ///< The document from now on; nothing: it stays as it is.
  /// The body that the writer knew, if it tells: for databases that store differences, and leave to
  /// other programs what the writer has not changed. It is the operation's.
  const Body* base = nullptr;
  bool erased = false;  ///< The document goes.
  Notice notice = Notice::kNobody;
  /// With Notice::kWaiters: the grant to the first of the queue, if there was one.
  std::optional<GrantSeen> grant;
};

/// What Unit::Commit has done.
struct Outcome {
  OpStatus status = OpStatus::kPending;  ///< kDone, kConflict, kFailed, kInDoubt.
  std::unique_ptr<OpDetail> detail;      ///< Why the status is not kDone.
  /// Another client's transaction holds it, and it is not stored. The unit has others too.
  bool blocked = false;
  /// Another client was quicker, and it is not stored. The unit has others too, and the program
  /// leaves it to a unit of its own.
  bool raced = false;

  /// A unique index has refused it. @param index its fields
  DOCLOCK_EXPORT void RefuseBy(std::string index);
  /// @param result kFailed or kInDoubt
  DOCLOCK_EXPORT void Fail(OpStatus result, Errc code, std::string text);
};

/// A document that one unit looks at, and what becomes of it. A unit has each document once.
struct Document {
  explicit Document(const Asked& a) noexcept : asked(a) {}

  const Asked asked;
  Loaded loaded;
  Decision decision;
  Outcome outcome;

  [[nodiscard]] bool IsDecided() const noexcept {
    return decision.erased || decision.entry.has_value();
  }
  [[nodiscard]] bool IsBlocked() const noexcept { return loaded.blocked || outcome.blocked; }
  /// Returns the decision's entry, to be edited: at first a copy of the loaded one, or an empty
  /// one.
  DOCLOCK_EXPORT Entry& Edit();
  /// What to tell the waiters of this process, once it is committed.
  [[nodiscard]] LockHint Hint() const { return {asked.hash, decision.grant}; }
};

}  // namespace doclock::locking
