#include "doclock/errors.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "doclock/messages.h"

namespace doclock {
namespace {

Disposition OfCode(Errc code) noexcept {
  switch (code) {
    case Errc::kLost:
    case Errc::kNotOwner:
    case Errc::kConflict:
      return Disposition::kRetryNow;
    case Errc::kBusy:
    case Errc::kTimedOut:
    case Errc::kUnavailable:
    case Errc::kInDoubt:
      return Disposition::kRetryLater;
    case Errc::kNotFound:
    case Errc::kDocument:
    case Errc::kMalformed:
    case Errc::kRefused:
      return Disposition::kDeadLetter;
    case Errc::kCancelled:
    case Errc::kClosed:
    case Errc::kForked:
      return Disposition::kStop;
  }
  return Disposition::kRetryLater;
}

}  // namespace

Disposition Classify(const std::exception_ptr& error) noexcept {
  if (!error) return Disposition::kAcknowledge;
  try {
    std::rethrow_exception(error);
  } catch (const DuplicateMessageException&) {
    return Disposition::kAcknowledge;
  } catch (const ConflictException& e) {
    return e.index().empty() ? Disposition::kRetryNow : Disposition::kDeadLetter;
  } catch (const Error& e) {
    return OfCode(e.errc());
  } catch (const std::logic_error&) {
    return Disposition::kDeadLetter;
  } catch (const nlohmann::json::exception&) {
    return Disposition::kDeadLetter;
  } catch (...) {
    return Disposition::kRetryLater;
  }
}

}  // namespace doclock
