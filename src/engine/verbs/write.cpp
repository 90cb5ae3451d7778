/// A holder's writes: checkpoint, release (with hand-over to the next waiter in the same write),
/// erase, discard.

#include <utility>

#include "engine/procedures/background_release.h"
#include "engine/procedures/write_procedure.h"
#include "engine/verbs/holder_write.h"
#include "engine/verbs/launch.h"

namespace doclock::detail {
namespace {

/// One write of a holder, alone.
class LoneWrite final : HolderWrite, public WriteProcedure {
 public:
  /// `mark`: see WaitTable::BeginRelease.
  LoneWrite(WritingLease writing, WriteKind kind, const Body& body, bool mark)
      : HolderWrite(std::move(writing), kind, body, mark), WriteProcedure(held()) {}
  LoneWrite(const LeasePtr& lease, WriteKind kind, const Body& body, bool mark)
      : LoneWrite(WritingLease::BeginOrThrow(lease), kind, body, mark) {}
  ~LoneWrite() override {
    if (begun()) Doubt();
  }

  FailurePtr Finish() noexcept {
    FailurePtr failure = TakeFailure();
    HolderWrite::Finish(failure != nullptr);
    return failure;
  }
};

/// Called after the release of a dropped handle.
void AfterAbandon(Lease& lease, const Failure* failure) noexcept {
  if (!failure || lease.phase() != Phase::kHeld || lease.lost()) return;
  // The store is unavailable: try until the lease ends there; no caller waits for it.
  Engine& engine = *lease.engine;
  lease.set_phase(Phase::kReleased);
  engine.keeper().Remove(lease);
  engine.events().Ended(lease, EndingOf(lease, WriteKind::kRelease, Body()));
  ReleaseInBackground(engine, *lease.collection, lease.key, lease.lock_id, lease.mode,
                      lease.stored_until());
}

}  // namespace

FailurePtr Write(const LeasePtr& lease, WriteKind kind, Body body) {
  return RunHere<LoneWrite>(lease->engine, Unusable(*lease), lease, kind, body, false);
}

void WriteAsync(const LeasePtr& lease, WriteKind kind, Body body, WriteDone done) {
  RunOnWorkers<LoneWrite>(lease->engine, Unusable(*lease), std::move(done), lease, kind, body,
                          true);
}

void Abandon(LeasePtr lease) noexcept {
  if (!lease || !lease->ours() || lease->lost() || lease->engine->closed()) return;
  if (!lease->BeginWrite()) return;  // it was released, or another operation is under way
  try {
    RunOnWorkers<LoneWrite>(
        lease->engine, nullptr,
        [lease](const FailurePtr& failure) { AfterAbandon(*lease, failure.get()); },
        WritingLease(lease), WriteKind::kRelease, Body(), true);
  } catch (...) {
    // Out of memory: the keeper tries again when it next looks at the lease.
    lease->engine->keeper().Abandoned(*lease);
  }
}

}  // namespace doclock::detail
