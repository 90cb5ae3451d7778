#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "doclock/errors.h"
#include "doclock/key.h"
#include "doclock/store/collection.h"

namespace doclock {

/// The outcome of an operation.
enum class OpStatus : std::uint8_t {
  kPending,   ///< Not executed; a store never leaves this.
  kDone,      ///< Granted, renewed, written, found.
  kBusy,      ///< Another client's live lock (detail: holder, remaining).
  kMissing,   ///< No such document.
  kConflict,  ///< Another version, an existing document, or a unique index (detail).
  kLost,      ///< The lock named in the request does not hold the document.
  kFailed,    ///< The store failed and nothing was written (detail: code, message).
  kInDoubt,   ///< The write may or may not have happened (detail: message).
  kKept,      ///< Another client's transaction has locked the row (see IfKept::kLeave).
};

/// What becomes of an operation whose document another client's transaction keeps, in a database
/// where that is so. In a call of several, those that wait come behind the others, one after the
/// other.
enum class IfKept : std::uint8_t {
  kWait,         ///< It waits, as long as the call has. A renewal waits for a moment at most.
  kWaitShortly,  ///< It waits for a second, and is then kFailed (kUnavailable).
  /// It waits for a moment at most (in a call of several for no row), and is then kKept, with
  /// nothing changed: the caller executes it once more, in a call of its own.
  kLeave,
};

/// Details of an operation that did not end in kDone.
struct OpDetail {
  Errc code = Errc::kUnavailable;  ///< With kFailed: the code.
  std::string message;             ///< The cause of kFailed and kInDoubt.
  bool kept_closed = false;        ///< With kBusy: it is free, but min_hold is not over.
  LockHolder holder;               ///< With kBusy: the holder, if known.
  /// With kBusy: the time until the operation could be granted, unless a lease is renewed or
  /// released before. An acquire waits for the lease in its way and for min_hold, so for the longer
  /// of the two; a save waits for the lease only.
  std::optional<std::chrono::milliseconds> remaining;
  std::optional<std::int64_t> found_version;  ///< With kConflict: the stored version.
  std::string index;  ///< With kConflict: the fields of the index that refused, by commas.
};

/// The kind of a StoreOp.
enum class OpKind : std::uint8_t { kAcquire, kRenew, kWrite, kSave, kRead };

/// The key of an operation, which keeps its address: no temporary.
struct OpKey {
  /// Takes a key that outlives the operation.
  OpKey(const Key& k) noexcept : OpKey(k, k.Hash()) {}  // NOLINT(google-explicit-constructor)
  /// Takes the key's hash too, if that is known already.
  OpKey(const Key& k, std::size_t key_hash) noexcept : key(&k), hash(key_hash) {}
  /// Deleted: the temporary would be gone before the operation runs.
  OpKey(const Key&&) = delete;
  /// Deleted: the temporary would be gone before the operation runs.
  OpKey(const Key&&, std::size_t) = delete;

  const Key* key;    ///< The key.
  std::size_t hash;  ///< key->Hash().
};

/// One operation on one document; the base of five kinds (operations.h). The caller fills in
/// `request`, the store `status`, `detail` and `result`. `collection` and `key` must outlive the
/// call.
///
/// Every store refuses these requests, as kFailed (kRefused), whatever the document holds:
/// - a grant under a nil lock id or under kSharedLockId; a limit that is not 1 to kMaxHolders;
/// - a write by a share of more than a note (see WriteOp::Request::mode);
/// - a hand-over to a share, or under the id of the lock that is released; a `next` with anything
///   but a kRelease;
/// - a kInsert without a body; a kReplace of kAnyVersion.
/// The engine has checked every body with CheckBody. A store checks again only that all text in it
/// is valid UTF-8: otherwise the operation is kFailed (kDocument), and nothing is written.
///
/// Lock fields with values that this library never writes are malformed. Every operation on such a
/// document is kFailed (kMalformed), and nothing is written. But if the stored id and version are
/// intact, a holder that knows both can release it, and in some stores save and erase it too.
struct StoreOp {
  OpKind kind;                           ///< The derived type.
  OpStatus status = OpStatus::kPending;  ///< The outcome; set by the store.
  Collection* collection;                ///< The collection; opened by the same store.
  const Key* key;                        ///< The document's key.
  std::size_t hash;                      ///< key->Hash().
  /// It was sent before, and is in doubt since. What shows it to be done may come from the
  /// earlier attempt. (A hint for stores that look up what they have done.)
  bool is_retry = false;
  /// Others stand in this document's queue, probably. (A hint for stores whose cheapest
  /// request depends on it.)
  bool queue_likely = false;
  IfKept if_kept = IfKept::kWait;    ///< See IfKept.
  std::unique_ptr<OpDetail> detail;  ///< Details; may stay null. Set by the store.

  /// Clears status, detail and result: as before it was executed. Defined in operations.h.
  void MakePending() noexcept;
  /// Sets a failure.
  void Fail(Errc code, std::string message) {
    status = OpStatus::kFailed;
    detail = std::make_unique<OpDetail>();
    detail->code = code;
    detail->message = std::move(message);
  }
  /// Sets kInDoubt.
  void Doubt(std::string message) {
    status = OpStatus::kInDoubt;
    detail = std::make_unique<OpDetail>();
    detail->code = Errc::kInDoubt;
    detail->message = std::move(message);
  }

 protected:
  /// For the derived types.
  StoreOp(OpKind k, Collection& c, OpKey document) noexcept
      : kind(k), collection(&c), key(document.key), hash(document.hash) {}
  ~StoreOp() = default;
  StoreOp(StoreOp&&) = default;
  StoreOp& operator=(StoreOp&&) = default;
};

}  // namespace doclock
