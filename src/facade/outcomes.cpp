/// Classifies failures for callers that treat some of them as results.

#include "doclock/detail/facade.h"

namespace doclock::detail {
namespace {

bool Is(const FailurePtr& failure, Errc code) noexcept { return failure && failure->code == code; }

}  // namespace

bool IsBusy(const FailurePtr& failure) noexcept {
  return Is(failure, Errc::kBusy) || Is(failure, Errc::kTimedOut);
}

bool IsMissing(const FailurePtr& failure) noexcept { return Is(failure, Errc::kNotFound); }

bool IsNothingFree(const FailurePtr& failure) noexcept {
  return IsMissing(failure) || IsBusy(failure);
}

bool IsOvertaken(const FailurePtr& failure) noexcept {
  return Is(failure, Errc::kBusy) || (Is(failure, Errc::kConflict) && failure->index.empty());
}

void ThrowIfNext(const FailurePtr& failure) {
  if (IsNothingFree(failure)) throw NotFoundException(failure->message);
  ThrowIf(failure);
}

}  // namespace doclock::detail
