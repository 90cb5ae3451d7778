#include "doclock/detail/engine.h"

namespace doclock::detail {
namespace {

/// Hands the exception that belongs to the failure to `use`, as its own type.
template <class Use>
auto Visit(const Failure& f, const Use& use) {
  switch (f.code) {
    case Errc::kBusy:
    case Errc::kTimedOut:
    case Errc::kCancelled:
    case Errc::kLost:
    case Errc::kNotOwner:
    case Errc::kForked:
      return use(LockException(f.code, f.message, f.holder, f.remaining));
    case Errc::kConflict:
      return use(ConflictException(f.message, f.expected, f.found, f.index));
    case Errc::kNotFound:
      return use(NotFoundException(f.message));
    case Errc::kDocument:
      return use(DocumentException(f.message));
    case Errc::kInDoubt:
      return use(InDoubtException(f.message));
    case Errc::kMalformed:
    case Errc::kUnavailable:
    case Errc::kRefused:
    case Errc::kClosed:
      break;
  }
  return use(StoreException(f.code, f.message));
}

}  // namespace

void Failure::Throw() const { std::rethrow_exception(AsException()); }

std::exception_ptr Failure::AsException() const {
  return Visit(*this, [](const auto& exception) { return std::make_exception_ptr(exception); });
}

}  // namespace doclock::detail
