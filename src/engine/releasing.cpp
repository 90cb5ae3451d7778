/// A holder's operations: checkpoint, release (with hand-over to the next waiter in the same
/// write), erase, discard, detach.

#include <new>
#include <stdexcept>
#include <utility>

#include "engine/engine.h"
#include "engine/procedures/background_release.h"
#include "engine/procedures/write_procedure.h"

namespace doclock::detail {
namespace {

/// Why the handle cannot write; null if it can.
FailurePtr Unusable(const Lease& lease) {
  const auto what = [&] { return "the lock of " + Describe(*lease.collection, lease.key); };
  if (!lease.ours())
    return MakeFailure(Errc::kForked, [&] { return what() + " belongs to the parent process"; });
  if (lease.lost())
    return MakeFailure(Errc::kLost, [&] { return what() + " was lost; nothing was written"; });
  if (lease.engine->closed()) return MakeFailure(Errc::kClosed, "the LockManager is closed");
  return nullptr;
}

void FailLater(Engine& engine, FailurePtr failure, WriteDone done) {
  engine.runtime().Notify([done = std::move(done), shared = std::make_shared<FailurePtr>(std::move(
                                                       failure))] { done(std::move(*shared)); });
}

/// A lease whose handle is writing. Where nothing comes of that (out of memory) it is held as
/// before.
class WritingLease {
 public:
  /// Takes over a write that was begun.
  explicit WritingLease(LeasePtr lease) noexcept : lease_(std::move(lease)) {}
  WritingLease(WritingLease&&) noexcept = default;
  WritingLease& operator=(WritingLease&&) = delete;
  ~WritingLease() {
    if (lease_) lease_->set_phase(Phase::kHeld);
  }
  /// The procedure has moved the lease on.
  void Done() noexcept { lease_ = nullptr; }
  /// Something was sent, and it will not be known what came of it.
  void Doubt() noexcept {
    if (!lease_) return;
    lease_->set_phase(Phase::kInDoubt);
    lease_->engine->keeper().Remove(*lease_);
    lease_->engine->events().Ended(*lease_);
    lease_ = nullptr;
  }

 private:
  LeasePtr lease_;
};

WritingLease BeginWriteOrThrow(const LeasePtr& lease) {
  if (lease->BeginWrite()) return WritingLease(lease);
  throw std::logic_error(lease->phase() == Phase::kWriting
                             ? "another operation of this lock is under way"
                             : "the lock was released already");
}

/// min_hold keeps the lock closed until then, so that no waiter can get it before. The release of a
/// share may free nothing.
bool MayHandOver(const Lease& lease, WriteKind kind) {
  if (kind != WriteKind::kRelease || lease.mode == LockMode::kShared) return false;
  return lease.min_hold().count() == 0 || lease.engine->Now() >= lease.granted + lease.min_hold();
}

/// One write of a holder, with its hand-over.
class HolderWrite {
 public:
  HolderWrite(WritingLease writing, LeasePtr of, WriteKind what, Body body, bool mark)
      : lease(std::move(of)),
        kind(what),
        writing_(std::move(writing)),
        engine_(*lease->engine),
        discard_(kind == WriteKind::kRelease && !body && !lease->named),
        procedure(engine_, lease, kind, std::move(body)) {
    if (kind != WriteKind::kCheckpoint) {
      release_ = engine_.waits().BeginRelease(*lease, mark, MayHandOver(*lease, kind));
    }
    if (const auto& next = release_.next()) {
      procedure.HandOver(MakeGrant(next->spec));
    }
  }
  HolderWrite(const HolderWrite&) = delete;
  HolderWrite& operator=(const HolderWrite&) = delete;
  ~HolderWrite() {
    if (procedure.begun()) writing_.Doubt();
  }

  /// After the procedure has run.
  FailurePtr Finish() noexcept {
    writing_.Done();
    FailurePtr failure = procedure.TakeFailure();
    if (kind == WriteKind::kCheckpoint) {
      if (lease->phase() == Phase::kInDoubt) engine_.events().Ended(*lease);
      return failure;
    }
    LeasePtr next;
    if (procedure.handed_over()) next = GrantToNext();
    if (!failure) Tell();
    const bool free = lease->phase() != Phase::kHeld;
    if (free) engine_.events().Ended(*lease);
    const bool kept = next != nullptr;
    engine_.waits().EndRelease(release_, std::move(next), free);
    if (free && !kept) engine_.FreedForSearches(*lease->collection);
    return failure;
  }

  const LeasePtr lease;
  const WriteKind kind;

 private:
  /// Null where memory runs out too: then the lock is given back, and the waiter asks for it.
  LeasePtr GrantToNext() noexcept {
    try {
      return engine_.Grant(release_.next()->spec, lease->key, procedure.next(), procedure.version(),
                           lease->born, procedure.body(), procedure.sent());
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  void Tell() noexcept {
    const auto held = engine_.Now() - lease->granted;
    if (discard_) {
      engine_.events().Discarded(*lease, held);
    } else {
      engine_.events().Released(*lease, held);
    }
  }

  WritingLease writing_;
  Engine& engine_;
  const bool discard_;
  WaitTable::Release release_;

 public:
  WriteProcedure procedure;
};

void StartWrite(const std::shared_ptr<HolderWrite>& write, WriteDone done) {
  const EnginePtr engine = write->lease->engine;
  RunAsync(engine, std::shared_ptr<Procedure>(write, &write->procedure),
           [write, done = std::move(done), background = engine->Background()] {
             done(write->Finish());
           });
}

}  // namespace

FailurePtr Write(const LeasePtr& lease, WriteKind kind, Body body) {
  if (auto failure = Unusable(*lease)) return failure;
  const auto background = lease->engine->Background();
  HolderWrite write(BeginWriteOrThrow(lease), lease, kind, std::move(body), false);
  Run(*lease->engine, write.procedure);
  return write.Finish();
}

void WriteAsync(const LeasePtr& lease, WriteKind kind, Body body, WriteDone done) {
  if (auto failure = Unusable(*lease)) {
    return FailLater(*lease->engine, std::move(failure), std::move(done));
  }
  StartWrite(
      std::make_shared<HolderWrite>(BeginWriteOrThrow(lease), lease, kind, std::move(body), true),
      std::move(done));
}

namespace {

/// Called after the release of a dropped handle.
void AfterAbandon(Lease& lease, const Failure* failure) noexcept {
  if (!failure || lease.phase() != Phase::kHeld || lease.lost()) return;
  // The store is unavailable: try until the lease ends there; no caller waits for it.
  Engine& engine = *lease.engine;
  lease.set_phase(Phase::kReleased);
  engine.keeper().Remove(lease);
  const auto kept = engine.Now() - lease.granted;
  if (lease.named) {
    engine.events().Released(lease, kept);
  } else {
    engine.events().Discarded(lease, kept);
  }
  engine.events().Ended(lease);
  ReleaseInBackground(engine, *lease.collection, lease.key, lease.lock_id, lease.mode,
                      lease.stored_until());
}

}  // namespace

void Abandon(LeasePtr lease) noexcept {
  if (!lease || !lease->ours() || lease->lost() || lease->engine->closed()) return;
  if (!lease->BeginWrite()) return;  // it was released, or another operation is under way
  try {
    WritingLease writing(lease);
    StartWrite(
        std::make_shared<HolderWrite>(std::move(writing), lease, WriteKind::kRelease, Body(), true),
        [lease](FailurePtr failure) { AfterAbandon(*lease, failure.get()); });
  } catch (...) {
    // Out of memory: the keeper tries again when it next looks at the lease.
    lease->engine->keeper().Abandoned(*lease);
  }
}

namespace {

/// After an attempt at a renewal. Once one was in doubt, a later one that fails settles nothing:
/// the first may have taken effect.
void KeepDoubt(RenewOp& op, bool& doubted) {
  doubted = doubted || op.status == OpStatus::kInDoubt;
  if (doubted && op.status == OpStatus::kFailed) op.status = OpStatus::kInDoubt;
}

/// Tells the store that the lease alone decides from now on.
class DetachProcedure final : public Procedure {
 public:
  explicit DetachProcedure(LeasePtr lease)
      : writing_(BeginWriteOrThrow(lease)),
        lease_(std::move(lease)),
        op_(*lease_->collection, lease_->key) {
    op_.lock_id = lease_->lock_id;
    op_.ttl = lease_->ttl();
    op_.mode = lease_->mode;
    op_.detached = true;
  }

  Step Next() override {
    if (op_.status == OpStatus::kPending) {
      sent_ = lease_->engine->Now();
      return sent_ < lease_->deadline() ? Step{&op_} : Step{};
    }
    KeepDoubt(op_, doubted_);
    if (op_.status == OpStatus::kInDoubt && ++retries_ < 5) return {&op_, backoff_.Next()};
    return {};
  }

  void Interrupt() noexcept override { op_.status = OpStatus::kInDoubt; }

  FailurePtr Finish() noexcept {
    writing_.Done();
    switch (op_.status) {
      case OpStatus::kDone:
        if (!lease_->engine->Prolong(*lease_, sent_, op_.ttl)) return Lost();
        LeaveIt(Phase::kDetached);
        lease_->engine->events().Ended(*lease_);
        return nullptr;
      case OpStatus::kInDoubt:
        LeaveIt(Phase::kInDoubt);
        lease_->engine->events().InDoubt(*lease_->collection, lease_->key);
        lease_->engine->events().Ended(*lease_);
        return FailureOf(op_);
      case OpStatus::kPending:  // never sent: its deadline had passed
      case OpStatus::kLost:
      case OpStatus::kMissing:
        return Lost();
      default:
        lease_->set_phase(Phase::kHeld);
        return FailureOf(op_);
    }
  }

 private:
  FailurePtr Lost() {
    lease_->set_phase(Phase::kHeld);
    lease_->engine->Lose(*lease_);
    return MakeFailure(Errc::kLost, [&] {
      return "the lock of " + Describe(*lease_->collection, lease_->key) + " was lost";
    });
  }
  void LeaveIt(Phase phase) {
    lease_->StopRenewing();
    lease_->set_phase(phase);
    lease_->engine->keeper().Remove(*lease_);
  }

  WritingLease writing_;
  const LeasePtr lease_;
  RenewOp op_;
  TimePoint sent_{};
  Backoff backoff_;
  int retries_ = 0;
  bool doubted_ = false;
};

/// Renews the lease with another length. The keeper's renewals go on meanwhile; in whatever order
/// they arrive, the lease ends no sooner than the later of them.
class RenewProcedure final : public Procedure {
 public:
  RenewProcedure(LeasePtr lease, std::chrono::milliseconds ttl)
      : writing_(BeginWriteOrThrow(lease)),
        lease_(std::move(lease)),
        op_(*lease_->collection, lease_->key) {
    op_.lock_id = lease_->lock_id;
    op_.ttl = ttl.count() == 0 ? lease_->ttl() : ttl;
    op_.mode = lease_->mode;
  }

  Step Next() override {
    if (op_.status == OpStatus::kPending) return Send({});
    KeepDoubt(op_, doubted_);
    if (op_.status == OpStatus::kInDoubt && ++retries_ < 5) return Send(backoff_.Next());
    return {};
  }

  void Interrupt() noexcept override { op_.status = OpStatus::kInDoubt; }

  FailurePtr Finish() noexcept {
    writing_.Done();
    if (op_.status == OpStatus::kInDoubt) NoteLength();
    lease_->set_phase(Phase::kHeld);
    const auto what = [this] { return Describe(*lease_->collection, lease_->key); };
    switch (op_.status) {
      case OpStatus::kDone:
        lease_->set_ttl(op_.ttl);
        if (lease_->engine->Prolong(*lease_, sent_, op_.ttl)) return nullptr;
        return MakeFailure(Errc::kLost, [&] { return "the lock of " + what() + " was lost"; });
      case OpStatus::kPending:  // never sent: its deadline had passed
      case OpStatus::kLost:
      case OpStatus::kMissing:
        lease_->engine->Lose(*lease_);
        return MakeFailure(Errc::kLost, [&] { return "the lock of " + what() + " was lost"; });
      case OpStatus::kInDoubt:
        if (lease_->lost())
          return MakeFailure(Errc::kLost, [&] { return "the lock of " + what() + " was lost"; });
        return MakeFailure(Errc::kInDoubt, [&] {
          return "whether the lock of " + what() + " was renewed is unknown; it is still held";
        });
      default:
        return FailureOf(op_);
    }
  }

 private:
  /// The new lease may have begun, as late as now.
  void NoteLength() {
    Engine& engine = *lease_->engine;
    lease_->NoteStoredUntil(engine.Now() + op_.ttl);
    if (lease_->lost()) engine.GiveBackLost(*lease_);
  }
  Step Send(std::chrono::nanoseconds pause) {
    const TimePoint when = lease_->engine->Now() + pause;
    if (when >= lease_->deadline()) return {};
    // The first time counts: that request may be the one that takes effect.
    if (op_.status == OpStatus::kPending) sent_ = when;
    return {&op_, pause};
  }

  WritingLease writing_;
  const LeasePtr lease_;
  RenewOp op_;
  TimePoint sent_{};
  Backoff backoff_;
  int retries_ = 0;
  bool doubted_ = false;
};

}  // namespace

FailurePtr Renew(const LeasePtr& lease, std::chrono::milliseconds ttl) {
  if (auto failure = Unusable(*lease)) return failure;
  RenewProcedure renew(lease, ttl);
  Run(*lease->engine, renew);
  return renew.Finish();
}

void RenewAsync(const LeasePtr& lease, std::chrono::milliseconds ttl, WriteDone done) {
  if (auto failure = Unusable(*lease)) {
    return FailLater(*lease->engine, std::move(failure), std::move(done));
  }
  const auto renew = std::make_shared<RenewProcedure>(lease, ttl);
  RunAsync(lease->engine, renew,
           [renew, done = std::move(done), background = lease->engine->Background()] {
             done(renew->Finish());
           });
}

FailurePtr Detach(const LeasePtr& lease) {
  if (auto failure = Unusable(*lease)) return failure;
  const auto background = lease->engine->Background();
  DetachProcedure detach(lease);
  Run(*lease->engine, detach);
  return detach.Finish();
}

void DetachAsync(const LeasePtr& lease, WriteDone done) {
  if (auto failure = Unusable(*lease)) {
    return FailLater(*lease->engine, std::move(failure), std::move(done));
  }
  const auto detach = std::make_shared<DetachProcedure>(lease);
  RunAsync(lease->engine, detach,
           [detach, done = std::move(done), background = lease->engine->Background()] {
             done(detach->Finish());
           });
}

const Key& LeaseKey(const Lease& lease) noexcept { return lease.key; }
const Uuid& LeaseLockId(const Lease& lease) noexcept { return lease.lock_id; }
std::int64_t LeaseFence(const Lease& lease) noexcept { return lease.fence; }
std::int64_t LeaseVersion(const Lease& lease) noexcept { return lease.version; }
Body LeaseBody(const Lease& lease) { return lease.body; }

std::chrono::system_clock::time_point LeaseTime(const Lease& lease) noexcept {
  return std::chrono::system_clock::now() -
         std::chrono::duration_cast<std::chrono::system_clock::duration>(lease.engine->Now() -
                                                                         lease.granted);
}

bool LeaseHeld(const Lease& lease) noexcept {
  const Phase phase = lease.phase();
  return (phase == Phase::kHeld || phase == Phase::kWriting) && !lease.lost() && lease.ours() &&
         !lease.engine->closed() && lease.engine->Now() < lease.deadline();
}

std::chrono::nanoseconds LeaseRemaining(const Lease& lease) noexcept {
  if (!LeaseHeld(lease)) return {};
  return std::max(lease.deadline() - lease.engine->Now(), std::chrono::nanoseconds(0));
}

std::stop_token LeaseLost(const LeasePtr& lease) { return lease->LostToken(); }

}  // namespace doclock::detail
