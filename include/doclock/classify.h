#pragma once

#include <cstdint>
#include <exception>

#include "doclock/export.h"

namespace doclock {

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
