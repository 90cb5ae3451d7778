#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "doclock/detail/engine.h"

namespace doclock::detail {

/// "document 'key' of 'collection'", for error texts.
std::string Describe(const Collection& collection, const Key& key);
/// The document that a failure is about.
std::shared_ptr<const DocumentId> NameOf(const Collection& collection, const Key& key);
/// The caller's failure for an operation that did not end in kDone.
FailurePtr FailureOf(const StoreOp& op) noexcept;
FailurePtr CopyOf(const Failure& failure) noexcept;
/// What the exception that is being handled says: `no_memory` for std::bad_alloc, kUnavailable for
/// exceptions of others.
FailurePtr FailureOfCaught() noexcept;

/// What `fill` makes of a failure with this code.
template <std::invocable<Failure&> Fill>
FailurePtr FilledFailure(Errc code, const Fill& fill) noexcept {
  auto failure = std::make_unique<Failure>();
  failure->code = code;
  fill(*failure);
  return failure;
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
