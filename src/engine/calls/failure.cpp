#include "engine/calls/failure.h"

#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "engine/calls/holder_text.h"

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

bool IsInsert(const StoreOp& op) {
  return op.kind == OpKind::kSave &&
         static_cast<const SaveOp&>(op).request.save == SaveKind::kInsert;
}

/// Is the lock free, but kept closed by min_hold?
bool IsClosed(const StoreOp& op) {
  return op.status == OpStatus::kBusy && op.detail && op.detail->kept_closed;
}

std::string ForAnother(const StoreOp& op) {
  if (!op.detail->remaining) return {};
  const auto left = std::chrono::ceil<std::chrono::seconds>(*op.detail->remaining);
  return " for another " + std::to_string(left.count()) + " s";
}

Errc CodeOf(const StoreOp& op) noexcept {
  switch (op.status) {
    case OpStatus::kBusy:
      return Errc::kBusy;
    case OpStatus::kMissing:
      return Errc::kNotFound;
    case OpStatus::kConflict:
      return Errc::kConflict;
    case OpStatus::kLost:
      return Errc::kLost;
    case OpStatus::kInDoubt:
      return Errc::kInDoubt;
    default:
      return op.detail ? op.detail->code : Errc::kUnavailable;
  }
}

std::string TextOf(const StoreOp& op) {
  const std::string what = Describe(*op.collection, *op.key);
  switch (op.status) {
    case OpStatus::kBusy:
      return what + (IsClosed(op) ? " is kept closed" + ForAnother(op) : " is locked");
    case OpStatus::kMissing:
      return "there is no " + what;
    case OpStatus::kConflict:
      return what + (IsInsert(op) ? " exists already" : " was changed by another client");
    case OpStatus::kLost:
      return "the lock of " + what + " is not held any more";
    case OpStatus::kInDoubt:
      return "the outcome of a write to " + what + " is unknown";
    default:
      return what + " could not be used";
  }
}

void Fill(Failure& failure, const StoreOp& op) {
  failure.message = TextOf(op);
  failure.document = NameOf(*op.collection, *op.key);
  if (!op.detail) return;
  const OpDetail& detail = *op.detail;
  failure.kept_closed = IsClosed(op);
  failure.holder = detail.holder;
  failure.remaining = detail.remaining;
  failure.found = detail.found_version;
  failure.index = detail.index;
  if (op.status == OpStatus::kBusy && !detail.holder.name.empty()) {
    failure.message += " by " + HolderText(detail.holder);
  }
  if (op.status == OpStatus::kConflict && !detail.index.empty()) {
    failure.message = Describe(*op.collection, *op.key) + " was refused by the unique index '" +
                      detail.index + "'";
  }
  if (detail.message.empty()) return;
  // Exceptions of stores begin so. Here it would stand in the middle.
  constexpr std::string_view kWhose = "doclock: ";
  std::string_view message = detail.message;
  if (message.starts_with(kWhose)) message.remove_prefix(kWhose.size());
  failure.message.append(": ").append(message);
}

}  // namespace

void Failure::Throw() const { std::rethrow_exception(AsException()); }

std::exception_ptr Failure::AsException() const noexcept {
  if (no_memory) return std::make_exception_ptr(std::bad_alloc());
  return Visit(*this, [](const auto& exception) { return std::make_exception_ptr(exception); });
}

std::string Describe(const Collection& collection, const Key& key) {
  return "document '" + key.ToString() + "' of '" + collection.name() + "'";
}

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

FailurePtr FailureOf(const StoreOp& op) noexcept {
  return FilledFailure(CodeOf(op), [&](Failure& failure) { Fill(failure, op); });
}

FailurePtr CopyOf(const Failure& failure) noexcept { return std::make_unique<Failure>(failure); }

FailurePtr FailureOfCaught() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return FilledFailure(Errc::kUnavailable, [](Failure& failure) { failure.no_memory = true; });
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
