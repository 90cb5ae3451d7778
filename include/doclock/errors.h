#pragma once

/// @file
/// What the library throws, and what to do with a message whose handler threw it.

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "doclock/document.h"
#include "doclock/export.h"

namespace doclock {

/// What went wrong, for code that branches. Values are stable.
enum class Errc {
  kBusy = 1,       ///< Another client holds the lock; nothing was changed.
  kTimedOut = 2,   ///< `wait` ran out while another client held the lock.
  kCancelled = 3,  ///< The wait was stopped by a stop token, Asio cancellation or closing.
  kLost = 4,       ///< The lease ended, or the lock was broken or its document erased.
  kNotOwner = 5,   ///< The lock id given does not, or no longer, lock the document.
  /// The document is at another version, exists already, or a unique index refused.
  kConflict = 6,
  kNotFound = 7,      ///< There is no such document.
  kDocument = 8,      ///< The body cannot be read as T, or cannot be stored as it is.
  kMalformed = 9,     ///< The stored lock fields are not what this library writes.
  kUnavailable = 10,  ///< The store could not be reached or was busy; trying again may help.
  kRefused = 11,      ///< The store refused the operation; trying again will not help.
  kInDoubt = 12,      ///< The write may or may not have happened.
  kClosed = 13,       ///< The LockManager is closed.
  kForked = 14,       ///< The handle belongs to the parent process.
};

/// Returns the category of Errc.
DOCLOCK_EXPORT const std::error_category& ErrorCategory() noexcept;
/// Makes `std::error_code` from Errc (found by ADL).
DOCLOCK_EXPORT std::error_code make_error_code(Errc code) noexcept;

}  // namespace doclock

/// Lets Errc convert to std::error_code.
template <>
struct std::is_error_code_enum<doclock::Errc> : std::true_type {};

namespace doclock {

/// The holder of a lock, as far as the store knows it. Diagnostic only: no decision uses it.
struct LockHolder {
  std::string name;      ///< `LockOptions::owner`, or the manager's default.
  std::string host;      ///< Machine name.
  std::int64_t pid = 0;  ///< Process id on that machine.

  /// "name (host:pid)", or "unknown". Control characters are shown as `\x1b`.
  [[nodiscard]] DOCLOCK_EXPORT std::string ToString() const;
};

/// The document that an exception is about.
struct DocumentId {
  std::string collection;  ///< Where it is.
  Key key;                 ///< Which one it is.
};

/// Base of everything this library throws at run time. Texts name the collection and the key, and
/// never contain a body, a lock id, or a store's URL.
class DOCLOCK_EXPORT Error : public std::system_error {
 public:
  /// Makes the exception with this code and text.
  Error(Errc code, const std::string& what);
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;
  /// Returns the text alone. (std::system_error would repeat what the code means.)
  [[nodiscard]] const char* what() const noexcept override { return text_.what(); }
  /// Returns the code as the enumeration.
  [[nodiscard]] Errc errc() const noexcept { return static_cast<Errc>(code().value()); }
  /// Returns the document that it is about: that which a Transaction or LockAll was refused for,
  /// too, or that LockNext or a query could not read. Null if it is about none, about several, or
  /// memory ran out.
  [[nodiscard]] const std::shared_ptr<const DocumentId>& document() const noexcept {
    return document_;
  }
  /// Says which document it is about, before it is thrown.
  void set_document(std::shared_ptr<const DocumentId> document) noexcept {
    document_ = std::move(document);
  }

 private:
  std::runtime_error text_;  ///< A string that copies without an exception.
  std::shared_ptr<const DocumentId> document_;
};

/// A lock was not granted (kBusy, kTimedOut, kCancelled), or is not held any more (kLost,
/// kNotOwner, kForked). Nothing was written.
class DOCLOCK_EXPORT LockException : public Error {
 public:
  /// Makes the exception with this code and text, and what the store said about the holder and its
  /// queue.
  LockException(Errc code, const std::string& what, LockHolder holder = {},
                std::optional<std::chrono::milliseconds> remaining = std::nullopt,
                std::optional<int> waiting = std::nullopt);
  ~LockException() override;
  /// Returns the holder; empty when unknown.
  [[nodiscard]] const LockHolder& holder() const noexcept { return holder_; }
  /// Returns how long the lock stays busy at most if no client renews or releases anything; empty
  /// when unknown. It is what was left of the holder's lease when the store looked. A caller that
  /// wants a share of a shared lock gets what was left of the share that ends first, or of the
  /// entries of the writers that wait before it. It is min_hold's if that is longer.
  [[nodiscard]] std::optional<std::chrono::milliseconds> remaining() const noexcept {
    return remaining_;
  }
  /// Returns how many entries stood before this caller in the store's queue when the store last
  /// answered: at most one of each process, and 64 in all. That of another caller of this process
  /// counts, if this caller has `wait` 0. Empty when unknown: for a store that keeps no queue
  /// (StoreTraits::queues), and if the store was not asked or gave no answer.
  [[nodiscard]] std::optional<int> waiting() const noexcept { return waiting_; }

 private:
  LockHolder holder_;
  std::optional<std::chrono::milliseconds> remaining_;
  std::optional<int> waiting_;
};

/// An optimistic write met another version, an insert met an existing document, or a unique index
/// other than the key's refused the write. Nothing was written.
class DOCLOCK_EXPORT ConflictException : public Error {
 public:
  /// Makes the exception with this text, the versions if they are known, and the index if one
  /// refused.
  ConflictException(const std::string& what, std::optional<std::int64_t> expected,
                    std::optional<std::int64_t> found, std::string index = {});
  ~ConflictException() override;
  /// Returns the version the caller had.
  [[nodiscard]] std::optional<std::int64_t> expected() const noexcept { return expected_; }
  /// Returns the version the store has.
  [[nodiscard]] std::optional<std::int64_t> found() const noexcept { return found_; }
  /// Returns the unique index that refused; empty when the version did.
  [[nodiscard]] const std::string& index() const noexcept { return index_; }

 private:
  std::optional<std::int64_t> expected_, found_;
  std::string index_;
};

/// There is no such document.
class DOCLOCK_EXPORT NotFoundException : public Error {
 public:
  /// Makes the exception with this text.
  explicit NotFoundException(const std::string& what);
  ~NotFoundException() override;
};

/// A body that T cannot read or that cannot be stored exactly (not an object, invalid UTF-8, NaN,
/// too deep, too large, a refused name). The document is unlocked and unchanged after a failed
/// Lock; after a failed release the lock is still held.
class DOCLOCK_EXPORT DocumentException : public Error {
 public:
  /// Makes the exception with this text.
  explicit DocumentException(const std::string& what);
  /// Makes the exception with this text and document.
  DocumentException(const std::string& what, std::shared_ptr<const DocumentId> document);
  ~DocumentException() override;
};

/// The store failed (kUnavailable, kRefused, kMalformed, kClosed).
class DOCLOCK_EXPORT StoreException : public Error {
 public:
  /// Makes the exception with this code and text.
  StoreException(Errc code, const std::string& what);
  ~StoreException() override;
  /// May the same call succeed later, with nothing else changed?
  [[nodiscard]] bool transient() const noexcept { return errc() == Errc::kUnavailable; }
};

/// The outcome is unknown: the reply was lost, and the write may or may not have happened. Do not
/// treat it as either.
class DOCLOCK_EXPORT InDoubtException : public StoreException {
 public:
  /// Makes the exception with this text.
  explicit InDoubtException(const std::string& what);
  ~InDoubtException() override;
};

/// What to do with a message whose handler threw.
enum class Disposition : std::uint8_t {
  kAcknowledge,  ///< It was handled before (DuplicateMessageException), or nothing was thrown.
  kRetryNow,     ///< Handle it again, from what is stored now.
  kRetryLater,   ///< Handle it again after a pause: another client or the store needs time.
  kDeadLetter,   ///< Do not try again: the message, the data or the program has to be mended.
  kStop,         ///< This process cannot handle messages: give the message back, and take no other.
};

/// Returns what to do with a message whose handler threw this; null: it threw nothing.
///
/// - LockException: kBusy and kTimedOut are kRetryLater, kLost and kNotOwner kRetryNow, kCancelled
///   and kForked kStop.
/// - ConflictException: kRetryNow if the version or an existing document refused, kDeadLetter if a
///   unique index did, or the id of a message that an outbox holds: it would refuse again until
///   that one is sent, and have it sent twice then.
/// - NotFoundException and DocumentException: kDeadLetter.
/// - StoreException: kUnavailable and kInDoubt are kRetryLater, kRefused and kMalformed
///   kDeadLetter, kClosed kStop. After doubt the message may have had its effect: handle it through
///   an Inbox.
/// - std::logic_error (misuse, a bad key or option) and errors of nlohmann::json (a message that
///   cannot be read): kDeadLetter.
/// - std::bad_alloc, std::system_error and everything else: kRetryLater. Catch exceptions of your
///   own before if they mean something else, and limit the attempts.
///
/// Thread-safe.
[[nodiscard]] DOCLOCK_EXPORT Disposition Classify(const std::exception_ptr& error) noexcept;

}  // namespace doclock
