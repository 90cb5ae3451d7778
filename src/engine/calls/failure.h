#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "doclock/detail/engine.h"

namespace doclock::detail {

// Failures are made where nothing may throw: in answers to asynchronous callers, after the store
// has acted. Out of memory, what these make says what happened, but not to which document.

/// A failure that tells its code and that memory ran out. Not to be changed.
FailurePtr WithoutText(Errc code) noexcept;
/// Memory ran out before anything was done: thrown as std::bad_alloc. Not to be changed.
FailurePtr NoMemory() noexcept;
/// "document 'key' of 'collection'", for error texts.
std::string Describe(const Collection& collection, const Key& key);
/// The document that a failure is about.
std::shared_ptr<const DocumentId> NameOf(const Collection& collection, const Key& key);
/// The caller's failure for an operation that did not end in kDone.
FailurePtr FailureOf(const StoreOp& op) noexcept;
FailurePtr CopyOf(const Failure& failure) noexcept;
/// What the exception that is being handled says: NoMemory() for std::bad_alloc, kUnavailable for
/// exceptions of others.
FailurePtr FailureOfCaught() noexcept;

/// What `fill` makes of a failure with this code.
template <std::invocable<Failure&> Fill>
FailurePtr FilledFailure(Errc code, const Fill& fill) noexcept {
  try {
    FailurePtr failure = std::make_unique<Failure>();
    failure->code = code;
    fill(*failure);
    return failure;
  } catch (...) {
    return WithoutText(code);
  }
}

/// `text` makes the message.
template <std::invocable Text>
FailurePtr MakeFailure(Errc code, const Text& text) noexcept {
  return FilledFailure(code, [&](Failure& failure) { failure.message = text(); });
}
/// About a document, whose description stands between `before` and `after` in the message.
FailurePtr MakeFailure(Errc code, const Collection& collection, const Key& key, const char* before,
                       const char* after) noexcept;
inline FailurePtr MakeFailure(Errc code, const char* message) noexcept {
  return FilledFailure(code, [&](Failure& failure) { failure.message = message; });
}

}  // namespace doclock::detail
