#include "engine/verbs/writing_lease.h"

#include <stdexcept>

#include "engine/verbs/launch.h"

namespace doclock::detail {
namespace {

const char* WhyOver(Phase phase) noexcept {
  switch (phase) {
    case Phase::kInDoubt:
      return "the outcome of an earlier operation of this lock is in doubt; its handle can do no "
             "more";
    case Phase::kDetached:
      return "the lock was detached";
    case Phase::kReleased:
      return "the lock was released already";
    default:
      return "another operation of this lock is under way";
  }
}

}  // namespace

FailurePtr Unusable(const Lease& lease) noexcept {
  const auto told = [&](Errc code, const char* why) {
    return MakeFailure(code, *lease.collection, lease.key, "the lock of ", why);
  };
  if (!lease.engine->ours()) return told(Errc::kForked, " belongs to the parent process");
  if (lease.lost()) return told(Errc::kLost, " was lost; nothing was written");
  return WhyClosed(*lease.engine);
}

WritingLease WritingLease::BeginOrThrow(const LeasePtr& lease) {
  if (lease->BeginWrite()) return WritingLease(lease);
  throw std::logic_error("doclock: " + Describe(*lease->collection, lease->key) + ": " +
                         WhyOver(lease->phase()));
}

WritingLease::~WritingLease() {
  if (lease_) lease_->set_phase(Phase::kHeld);
}

void WritingLease::Doubt() noexcept {
  if (!lease_) return;
  lease_->StopRenewing();
  lease_->set_phase(Phase::kInDoubt);
  lease_->engine->leases().keeper().Remove(*lease_);
  lease_->engine->events().InDoubt(*lease_->collection, lease_->key);
  lease_->engine->events().Ended(*lease_, Ending::kOther);
  lease_ = nullptr;
}

}  // namespace doclock::detail
