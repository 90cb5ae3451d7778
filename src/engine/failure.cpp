#include "engine/failure.h"

#include <array>
#include <exception>
#include <new>

#include "engine/engine.h"

namespace doclock::detail {
namespace {

/// Hands the exception that belongs to the failure to `use`, as its own type.
template <class Use>
auto Visit(const Failure& f, const Use& use) {
  const auto named = [&](auto exception) {
    exception.set_document(f.document);
    return use(exception);
  };
  switch (f.code) {
    case Errc::kBusy:
    case Errc::kTimedOut:
    case Errc::kCancelled:
    case Errc::kLost:
    case Errc::kNotOwner:
    case Errc::kForked:
      return named(LockException(f.code, f.message, f.holder, f.remaining, f.waiting));
    case Errc::kConflict:
      return named(ConflictException(f.message, f.expected, f.found, f.index));
    case Errc::kNotFound:
      return named(NotFoundException(f.message));
    case Errc::kDocument:
      return named(DocumentException(f.message));
    case Errc::kInDoubt:
      return named(InDoubtException(f.message));
    case Errc::kMalformed:
    case Errc::kUnavailable:
    case Errc::kRefused:
    case Errc::kClosed:
      break;
  }
  return named(StoreException(f.code, f.message));
}

constexpr std::size_t kCodes = static_cast<std::size_t>(Errc::kForked) + 1;
using AllFailures = std::array<Failure, kCodes + 1>;

/// One of each code, and NoMemory. Made without an allocation, and never destroyed: threads that
/// were left behind may have one.
AllFailures& Lasting() noexcept {
  alignas(AllFailures) static std::array<std::byte, sizeof(AllFailures)> place;
  static AllFailures* const all = [] {
    auto* const made = new (place.data()) AllFailures;
    for (std::size_t code = 0; code < kCodes; ++code) {
      (*made)[code].code = static_cast<Errc>(code);
      (*made)[code].message = "out of memory";  // short enough to stand in the string itself
    }
    made->back().no_memory = true;
    return made;
  }();
  return *all;
}

}  // namespace

void Failure::Throw() const { std::rethrow_exception(AsException()); }

std::exception_ptr Failure::AsException() const noexcept {
  if (no_memory) return std::make_exception_ptr(std::bad_alloc());
  const auto make = [](const auto& exception) { return std::make_exception_ptr(exception); };
  try {
    return Visit(*this, make);
  } catch (...) {
    // Another type would say less than no text does.
  }
  try {
    Failure bare;
    bare.code = code;
    return Visit(bare, make);
  } catch (...) {
    return std::current_exception();
  }
}

FailurePtr WithoutText(Errc code) noexcept {
  const auto which = static_cast<std::size_t>(code);
  return {&Lasting()[which], FailureDeleter(true)};
}

FailurePtr NoMemory() noexcept { return {&Lasting().back(), FailureDeleter(true)}; }

std::shared_ptr<const DocumentId> NameOf(const Collection& collection, const Key& key) {
  return std::make_shared<const DocumentId>(collection.name(), key);
}

FailurePtr MakeFailure(Errc code, const Collection& collection, const Key& key, const char* before,
                       const char* after) noexcept {
  return FilledFailure(code, [&](Failure& failure) {
    failure.document = NameOf(collection, key);
    failure.message = before + Describe(collection, key) + after;
  });
}

FailurePtr CopyOf(const Failure& failure) noexcept {
  if (failure.no_memory) return NoMemory();
  try {
    return std::make_unique<Failure>(failure);
  } catch (const std::bad_alloc&) {
    return WithoutText(failure.code);
  }
}

FailurePtr FailureOfCaught() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return NoMemory();
  } catch (const Error& error) {
    return FilledFailure(error.errc(), [&](Failure& failure) {
      failure.message = error.what();
      failure.document = error.document();
    });
  } catch (const std::exception& error) {
    return MakeFailure(Errc::kUnavailable, [&] { return error.what(); });
  } catch (...) {
    return MakeFailure(Errc::kUnavailable, "an exception of an unknown type");
  }
}

}  // namespace doclock::detail
