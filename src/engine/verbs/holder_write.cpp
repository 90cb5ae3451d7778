#include "engine/verbs/holder_write.h"

#include "engine/calls/background_release.h"

namespace doclock::detail {
namespace {

/// min_hold keeps the lock closed until then, so that no waiter can get it before. The release of a
/// share may free nothing.
bool MayHandOver(const Lease& lease, WriteKind kind) {
  if (kind != WriteKind::kRelease || lease.mode == LockMode::kShared) return false;
  const std::chrono::nanoseconds min_hold = lease.min_hold();
  if (min_hold.count() == 0) return true;
  // By the store's clock, which may run behind: as Engine::DeadlineOf.
  Engine& engine = *lease.engine;
  return engine.Now() >=
         lease.granted + min_hold + min_hold / 1000 + engine.store().traits().clock_margin;
}

/// Under an id of its own, so that a read proves the hand-over.
GrantRequest GrantTo(const PendingAcquire& next) {
  GrantRequest grant = MakeGrant(next.spec);
  if (next.ticket.entered) grant.entry = next.ticket.id;
  return grant;
}

}  // namespace

Ending EndingOf(const Lease& lease, WriteKind kind, const Body& body) noexcept {
  const bool discards = kind == WriteKind::kRelease && !body && !lease.named;
  return discards ? Ending::kDiscarded : Ending::kReleased;
}

HolderWrite::HolderWrite(Engine& engine, WritingLease writing, WriteKind kind, const Body& body,
                         bool mark)
    : lease_(writing.lease()),
      engine_(engine),
      ending_(EndingOf(*lease_, kind, body)),
      background_(engine.Background()),
      writing_(std::move(writing)),
      write_(*lease_->collection, lease_->key),
      written_(body ? body : lease_->body) {
  write_.request.write = kind;
  write_.request.lock_id = lease_->lock_id;
  write_.request.mode = lease_->mode;
  write_.request.body = body;  // with a share: for the store to refuse
  if (lease_->mode == LockMode::kExclusive) {
    write_.request.expected = lease_->version;
    write_.request.born = lease_->born;
    write_.request.base = lease_->body;
    write_.request.ttl = lease_->ttl();
    write_.request.fence = lease_->fence;
  }
  if (kind == WriteKind::kCheckpoint) return;
  release_ = engine_.waits().BeginRelease(*lease_, mark, MayHandOver(*lease_, kind));
  if (const auto& next = release_.next()) {
    next_ = GrantTo(*next);
    write_.request.next = &next_;
  }
}

void HolderWrite::Prepare(TimePoint when, bool is_retry) noexcept {
  write_.request.renewed = lease_->renewed();
  write_.is_retry = is_retry;
  if (!is_retry) sent_ = when;
}

std::int64_t HolderWrite::Written(const ReadOp* look) noexcept {
  handed_over_ = write_.request.next != nullptr;
  if (leaves_trace()) {
    lease_->version = VersionOf(write_);
  } else if (write_.status == OpStatus::kDone) {
    lease_->version = write_.result.version;
  }
  const bool keeps = write_.request.write == WriteKind::kCheckpoint;
  if (look != nullptr) {
    handed_over_ = handed_over_ && look->result.lock_id == next_.lock_id;
    // Under its own lock, or that of a holder who does not know of it yet, no other client wrote
    // since.
    if (handed_over_ || keeps) lease_->version = look->result.version;
  }
  lease_->body = written_;
  if (keeps) {
    lease_->set_phase(Phase::kHeld);
    engine_.leases().Prolong(*lease_, sent_, write_.request.ttl);
  } else {
    lease_->set_phase(Phase::kReleased);
    engine_.leases().keeper().Remove(*lease_);
  }
  return lease_->version;
}

FailurePtr HolderWrite::Refused() noexcept {
  const OpStatus status = write_.status;
  lease_->set_phase(Phase::kHeld);
  const bool lost =
      status == OpStatus::kPending || status == OpStatus::kLost || status == OpStatus::kMissing;
  if (!lost) return FailureOf(write_);
  engine_.leases().Lose(*lease_);
  return MakeFailure(Errc::kLost, *lease_->collection, lease_->key, "the lock of ",
                     " was lost; nothing was written");
}

void HolderWrite::Unknown() noexcept {
  lease_->set_phase(Phase::kInDoubt);
  engine_.leases().keeper().Remove(*lease_);
  if (write_.request.next !=
      nullptr) {  // it may have been handed over to a waiter that will never know
    ReleaseInBackground(engine_.calls(), *lease_->collection, lease_->key, next_.lock_id,
                        next_.mode, engine_.Now() + next_.ttl, Ghost::kYes);
  }
  engine_.events().InDoubt(*lease_->collection, lease_->key);
}

void HolderWrite::End(bool failed) noexcept {
  writing_.Done();
  const bool over = lease_->phase() != Phase::kHeld;
  LeasePtr next;
  if (handed_over_) {
    next = engine_.leases().Make(release_.next()->spec, lease_->key, next_, lease_->version,
                                 lease_->born, written_, sent_);
  }
  if (over) engine_.events().Ended(*lease_, failed ? Ending::kOther : ending_);
  if (write_.request.write == WriteKind::kCheckpoint) return;
  const bool kept = next != nullptr;
  engine_.waits().EndRelease(release_, std::move(next), over);
  if (over && !kept) engine_.waits().FreedForSearches(*lease_->collection);
}

}  // namespace doclock::detail
