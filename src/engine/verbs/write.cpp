/// A holder's writes: checkpoint, release (with hand-over to the next waiter in the same write),
/// erase, discard.

#include <utility>

#include "engine/procedures/background_release.h"
#include "engine/procedures/write_procedure.h"
#include "engine/verbs/launch.h"
#include "engine/verbs/writing_lease.h"

namespace doclock::detail {
namespace {

/// min_hold keeps the lock closed until then, so that no waiter can get it before. The release of a
/// share may free nothing.
bool MayHandOver(const Lease& lease, WriteKind kind) {
  if (kind != WriteKind::kRelease || lease.mode == LockMode::kShared) return false;
  return lease.min_hold().count() == 0 || lease.engine->Now() >= lease.granted + lease.min_hold();
}

Ending EndingOf(const Lease& lease, WriteKind kind, const Body& body) noexcept {
  const bool discards = kind == WriteKind::kRelease && !body && !lease.named;
  return discards ? Ending::kDiscarded : Ending::kReleased;
}

/// Under an id of its own, so that a look proves the hand-over.
GrantRequest GrantTo(const PendingAcquire& next) {
  GrantRequest grant = MakeGrant(next.spec);
  if (next.ticket.entered) grant.entry = next.ticket.id;
  return grant;
}

/// One write of a holder, with its hand-over.
class HolderWrite final : public WriteProcedure {
 public:
  /// `mark`: see WaitTable::BeginRelease.
  HolderWrite(WritingLease writing, WriteKind kind, const Body& body, bool mark)
      : WriteProcedure(writing.lease(), kind, body),
        kind_(kind),
        lease_(writing.lease()),
        engine_(*lease_->engine),
        ending_(EndingOf(*lease_, kind, body)),
        background_(engine_.Background()),
        writing_(std::move(writing)) {
    if (kind == WriteKind::kCheckpoint) return;
    release_ = engine_.waits().BeginRelease(*lease_, mark, MayHandOver(*lease_, kind));
    if (const auto& next = release_.next()) HandOver(GrantTo(*next));
  }
  HolderWrite(const LeasePtr& lease, WriteKind kind, const Body& body, bool mark)
      : HolderWrite(WritingLease::BeginOrThrow(lease), kind, body, mark) {}
  ~HolderWrite() override {
    if (begun()) writing_.Doubt();
  }

  FailurePtr Finish() noexcept {
    writing_.Done();
    FailurePtr failure = TakeFailure();
    const bool over = lease_->phase() != Phase::kHeld;
    LeasePtr next;
    if (handed_over()) next = GrantToNext();
    if (over) engine_.events().Ended(*lease_, failure ? Ending::kOther : ending_);
    if (kind_ == WriteKind::kCheckpoint) return failure;
    const bool kept = next != nullptr;
    engine_.waits().EndRelease(release_, std::move(next), over);
    if (over && !kept) engine_.FreedForSearches(*lease_->collection);
    return failure;
  }

 private:
  /// Null where memory runs out too: then the lock is given back, and the waiter asks for it.
  LeasePtr GrantToNext() noexcept {
    try {
      return engine_.Grant(release_.next()->spec, lease_->key, next(), version(), lease_->born,
                           this->body(), sent());
    } catch (...) {
      return nullptr;
    }
  }

  const WriteKind kind_;
  const LeasePtr lease_;
  Engine& engine_;
  const Ending ending_;
  const std::shared_ptr<void> background_;
  WritingLease writing_;
  WaitTable::Release release_;
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
  return RunHere<HolderWrite>(lease->engine, Unusable(*lease), lease, kind, body, false);
}

void WriteAsync(const LeasePtr& lease, WriteKind kind, Body body, WriteDone done) {
  RunOnWorkers<HolderWrite>(lease->engine, Unusable(*lease), std::move(done), lease, kind, body,
                            true);
}

void Abandon(LeasePtr lease) noexcept {
  if (!lease || !lease->ours() || lease->lost() || lease->engine->closed()) return;
  if (!lease->BeginWrite()) return;  // it was released, or another operation is under way
  try {
    RunOnWorkers<HolderWrite>(
        lease->engine, nullptr,
        [lease](const FailurePtr& failure) { AfterAbandon(*lease, failure.get()); },
        WritingLease(lease), WriteKind::kRelease, Body(), true);
  } catch (...) {
    // Out of memory: the keeper tries again when it next looks at the lease.
    lease->engine->keeper().Abandoned(*lease);
  }
}

}  // namespace doclock::detail
