#include "doclock/errors.h"

#include "doclock/store/record_store.h"

#include <array>
#include <cstddef>
#include <new>

#include "document/values/utf8.h"

namespace doclock {
namespace {

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "doclock"; }
  std::string message(int code) const override { return Text(static_cast<Errc>(code)); }

 private:
  static const char* Text(Errc code) noexcept {
    switch (code) {
      case Errc::kBusy:
        return "the lock is busy";
      case Errc::kTimedOut:
        return "the lock was still busy when the wait ran out";
      case Errc::kCancelled:
        return "the wait was stopped";
      case Errc::kLost:
        return "the lock is lost";
      case Errc::kNotOwner:
        return "not the owner of the lock";
      case Errc::kConflict:
        return "the document conflicts with what is stored";
      case Errc::kNotFound:
        return "no such document";
      case Errc::kDocument:
        return "the document cannot be read or stored";
      case Errc::kMalformed:
        return "the stored lock fields are malformed";
      case Errc::kUnavailable:
        return "the store is unavailable";
      case Errc::kRefused:
        return "the store refused the operation";
      case Errc::kInDoubt:
        return "it may or may not have been written";
      case Errc::kClosed:
        return "the lock manager is closed";
      case Errc::kForked:
        return "the handle belongs to the parent process";
    }
    return "unknown error";
  }
};

/// What the code means, for a failure without a text: memory ran out.
std::string TextOr(Errc code, const std::string& what) {
  return what.empty() ? make_error_code(code).message() : what;
}

}  // namespace

const std::error_category& ErrorCategory() noexcept {
  // Never destroyed: something may fail while the process ends.
  alignas(Category) static std::array<std::byte, sizeof(Category)> place;
  static const Category& category = *new (place.data()) Category;
  return category;
}

std::error_code make_error_code(Errc code) noexcept {
  return {static_cast<int>(code), ErrorCategory()};
}

std::string LockHolder::ToString() const {
  if (name.empty() && host.empty() && pid == 0) return "unknown";
  std::string text;
  detail::AppendEscaped(text, name.empty() ? "unknown" : name);
  if (host.empty() && pid == 0) return text;
  text += " (";
  detail::AppendEscaped(text, host);
  if (pid != 0) text += ':' + std::to_string(pid);
  return text + ')';
}

Error::Error(Errc code, const std::string& what)
    : std::system_error(make_error_code(code)), text_(TextOr(code, what)) {}
Error::~Error() = default;

LockException::LockException(Errc code, const std::string& what, LockHolder holder,
                             std::optional<std::chrono::milliseconds> remaining,
                             std::optional<int> waiting)
    : Error(code, what), holder_(std::move(holder)), remaining_(remaining), waiting_(waiting) {}
LockException::~LockException() = default;

ConflictException::ConflictException(const std::string& what, std::optional<std::int64_t> expected,
                                     std::optional<std::int64_t> found, std::string index)
    : Error(Errc::kConflict, what), expected_(expected), found_(found), index_(std::move(index)) {}
ConflictException::~ConflictException() = default;
RacedException::~RacedException() = default;

NotFoundException::NotFoundException(const std::string& what) : Error(Errc::kNotFound, what) {}
NotFoundException::~NotFoundException() = default;

DocumentException::DocumentException(const std::string& what) : Error(Errc::kDocument, what) {}
DocumentException::DocumentException(const std::string& what,
                                     std::shared_ptr<const DocumentId> document)
    : DocumentException(what) {
  set_document(std::move(document));
}
DocumentException::~DocumentException() = default;

StoreException::StoreException(Errc code, const std::string& what) : Error(code, what) {}
StoreException::~StoreException() = default;

InDoubtException::InDoubtException(const std::string& what)
    : StoreException(Errc::kInDoubt, what) {}
InDoubtException::~InDoubtException() = default;

}  // namespace doclock
