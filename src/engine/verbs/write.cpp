/// A holder's writes: checkpoint, release (with hand-over to the next waiter in the same write),
/// erase, discard; and releases by value.

#include <utility>

#include "engine/calls/background_release.h"
#include "engine/verbs/holder_write.h"
#include "engine/verbs/launch.h"
#include "engine/verbs/write_procedure.h"

namespace doclock::detail {
namespace {

/// Called after the release of a dropped handle.
void AfterAbandon(Lease& lease, const Failure* failure) noexcept {
  if (!failure) return;
  Engine& engine = *lease.engine;
  if (lease.phase() == Phase::kHeld && !lease.lost()) {
    lease.set_phase(Phase::kReleased);
    engine.leases().keeper().Remove(lease);
    engine.events().Ended(lease, EndingOf(lease, WriteKind::kRelease, Body()));
  } else if (lease.phase() != Phase::kInDoubt) {
    return;
  }
  // The store is unavailable: try until the lease ends there; no caller waits for it.
  engine.leases().GiveBack(lease, lease.stored_until());
}

}  // namespace

FailurePtr Write(const LeasePtr& lease, WriteKind kind, Body body) {
  return RunHere<Lone<HolderWrite>>(lease->engine, Unusable(*lease), *lease->engine,
                                    HolderSpec{lease, kind, std::move(body)}, false);
}

void WriteAsync(const LeasePtr& lease, WriteKind kind, Body body, WriteDone done) {
  RunOnWorkers<Lone<HolderWrite>>(lease->engine, Unusable(*lease), std::move(done), *lease->engine,
                                  HolderSpec{lease, kind, std::move(body)}, true);
}

FailurePtr ReleaseByValue(const EnginePtr& engine, ValueRelease release) {
  return RunHere<Lone<ValuePart>>(engine, WhyClosed(*engine), *engine, std::move(release));
}

void ReleaseByValueAsync(const EnginePtr& engine, ValueRelease release, WriteDone done) {
  RunOnWorkers<Lone<ValuePart>>(engine, WhyClosed(*engine), std::move(done), *engine,
                                std::move(release));
}

void GiveBack(Grant grant) noexcept {
  if (!grant.lease || !grant.lease->engine->closed()) return;  // the Grant does it
  const LeasePtr lease = std::move(grant.lease);
  lease->engine->leases().GiveBack(*lease, lease->stored_until());
}

void Abandon(LeasePtr lease) noexcept {
  if (!lease || !lease->engine->ours() || lease->lost() || lease->engine->closed()) return;
  if (!lease->BeginWrite()) return;  // it was released, or another operation is under way
  RunOnWorkers<Lone<HolderWrite>>(
      lease->engine, nullptr,
      [lease](const FailurePtr& failure) { AfterAbandon(*lease, failure.get()); }, *lease->engine,
      WritingLease(lease), WriteKind::kRelease, Body(), true);
}

}  // namespace doclock::detail
