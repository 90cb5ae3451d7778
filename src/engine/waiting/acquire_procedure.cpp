#include "engine/waiting/acquire_procedure.h"

#include <utility>

#include "engine/calls/background_release.h"
#include "engine/waiting/queue_times.h"

namespace doclock::detail {
namespace {

/// Fresh attempts after one whose outcome stayed unknown.
constexpr int kMaxGhosts = 3;

}  // namespace

AcquireProcedure::AcquireProcedure(LeaseBook& book, const AcquireSpec& spec, TimePoint give_up,
                                   const Uuid& upsert_id, QueueTicket* ticket)
    : book_(book),
      calls_(book.calls()),
      spec_(spec),
      give_up_(give_up),
      ticket_(ticket),
      upsert_id_(upsert_id),
      acquire_(*spec.collection, spec.key),
      confirm_(*spec.collection, {spec.key, acquire_.hash}),
      read_(*spec.collection, {spec.key, acquire_.hash}) {}

Procedure::Step AcquireProcedure::Next() {
  switch (state_) {
    case State::kStart:
      return Start();
    case State::kLook:
      return AfterLook();
    case State::kAcquire:
      return AfterAcquire();
    case State::kConfirm:
      return AfterConfirm();
    case State::kRead:
      return AfterRead();
    case State::kFinished:
      break;
  }
  return {};
}

Procedure::Step AcquireProcedure::Start() {
  acquire_.request.grant = MakeGrant(spec_);
  if (ticket_) Enter();
  if (!acquire_.request.seems_granted || !calls_.traits().reads_apart) return Acquire();
  // A read waits neither for the store's writers nor for those of other processes.
  state_ = State::kLook;
  return {.op = &read_, .reads_apart = true};
}

Procedure::Step AcquireProcedure::AfterLook() {
  const bool granted = read_.status == OpStatus::kDone && read_.result.locked &&
                       read_.result.lock_id == acquire_.request.grant.lock_id &&
                       !read_.result.born.is_nil();
  if (!granted) return Acquire();
  created = MadeByUs(read_.result.born);
  return Granted(read_.result.version, read_.result.born, std::move(read_.result.body),
                 ticket_->since, true);
}

Procedure::Step AcquireProcedure::Acquire() {
  sent_ = calls_.Now();
  // In another library's documents nothing is inserted.
  const bool inserts = upsert_id_.is_nil() || spec_.collection->turns() != nullptr;
  acquire_.request.insert = inserts ? spec_.insert : Body();
  if (acquire_.request.insert) upsert_id_ = acquire_.request.grant.lock_id;
  state_ = State::kAcquire;
  return {&acquire_};
}

void AcquireProcedure::Enter() noexcept {
  repeated_ = !ticket_->id.is_nil();
  if (!repeated_) *ticket_ = {.id = acquire_.request.grant.lock_id, .since = calls_.Now()};
  acquire_.request.grant.lock_id = ticket_->id;
  acquire_.request.grant.queue_for = EntryLength(spec_.ttl);
  acquire_.request.seems_granted = std::exchange(ticket_->seems_granted, false);
}

Procedure::Step AcquireProcedure::AfterAcquire() {
  if (acquire_.status == OpStatus::kInDoubt) return Confirm({});
  if (acquire_.request.insert && !acquire_.result.created) upsert_id_ = {};  // the reply says so
  if (acquire_.status == OpStatus::kDone) {
    created = acquire_.result.created || MadeByUs(acquire_.result.born);
    const bool passed_on = ticket_ && acquire_.result.passed_on;
    return Granted(acquire_.result.version, acquire_.result.born, std::move(acquire_.result.body),
                   passed_on ? ticket_->since : sent_, passed_on);
  }
  if (ticket_ && acquire_.status == OpStatus::kBusy) {
    ticket_->entered = acquire_.result.queued;
    if (acquire_.result.queued) {
      ticket_->since = sent_;
      ticket_->born = acquire_.result.born;
      ticket_->version = acquire_.result.version;
    }
  }
  // A missing document after a lost upsert proves nothing: the upsert may still reach the store. If
  // it had a reply that came too late, another client has erased the document.
  if (acquire_.status == OpStatus::kMissing && !upsert_id_.is_nil()) return FinishInDoubt();
  Finish(acquire_);
  const bool known = status_ == OpStatus::kBusy && calls_.store_has_queue();
  if (known && (acquire_.result.queued || acquire_.result.ahead.value_or(0) > 0)) {
    calls_.met_queues().Met(acquire_.hash, calls_.Now());
  }
  if (known) failure_->waiting = acquire_.result.ahead;
  return {};
}

Procedure::Step AcquireProcedure::Confirm(std::chrono::nanoseconds pause) {
  confirm_.request.lock_id = acquire_.request.grant.lock_id;
  confirm_.request.ttl = spec_.ttl;
  confirm_.request.mode = spec_.mode;
  confirm_sent_ = calls_.Now() + pause;
  state_ = State::kConfirm;
  return {&confirm_, pause};
}

Procedure::Step AcquireProcedure::AfterConfirm() {
  switch (confirm_.status) {
    case OpStatus::kDone:
      // An earlier attempt's entry may have been granted this, and the one in doubt may still come.
      if (repeated_) return TryAgain();
      state_ = State::kRead;
      return {&read_};
    case OpStatus::kLost:
    case OpStatus::kMissing:
      return TryAgain();
    default:
      break;
  }
  const auto pause = backoff_.Next();
  if (!calls_.closed() && calls_.Now() + pause < give_up_) return Confirm(pause);
  ReleaseGhost();
  return FinishInDoubt();
}

std::optional<int> AcquireProcedure::queued_behind() const noexcept {
  if (status_ != OpStatus::kBusy || !acquire_.result.queued) return std::nullopt;
  return acquire_.result.ahead;
}

void AcquireProcedure::ReleaseGhost() noexcept {
  if (ticket_) {
    LeaveInBackground(calls_, *spec_.collection, spec_.key, acquire_.request.grant.lock_id,
                      calls_.Now() + spec_.ttl, Ghost::kYes);
    *ticket_ = {};  // the next attempt has another id
    return;
  }
  // A renewal that confirms it may have made the lease end later than the grant did.
  ReleaseInBackground(calls_, *spec_.collection, spec_.key, acquire_.request.grant.lock_id,
                      spec_.mode, calls_.Now() + spec_.ttl, Ghost::kYes);
}

Procedure::Step AcquireProcedure::TryAgain() {
  ReleaseGhost();
  if (++ghosts_ > kMaxGhosts || calls_.closed() || calls_.Now() >= give_up_) {
    return FinishInDoubt();
  }
  return Start();
}

Procedure::Step AcquireProcedure::AfterRead() {
  // The renewal proved a share; here only the version is of interest, which other shares may have
  // raised since.
  const bool shared = spec_.mode == LockMode::kShared;
  const Uuid& shown = shared ? kSharedLockId : acquire_.request.grant.lock_id;
  if (read_.status == OpStatus::kDone && read_.result.lock_id == shown) {
    created = MadeByUs(read_.result.born);
    return Granted(read_.result.version, read_.result.born, std::move(read_.result.body),
                   confirm_sent_);
  }
  if (read_.status == OpStatus::kFailed) {
    const auto pause = backoff_.Next();
    if (!calls_.closed() && calls_.Now() + pause < give_up_) return {&read_, pause};
    ReleaseGhost();
    return FinishInDoubt();
  }
  return TryAgain();
}

Procedure::Step AcquireProcedure::Granted(std::int64_t version, const Uuid& born, Body stored,
                                          TimePoint sent, bool passed_on) {
  if (ticket_) *ticket_ = {};
  body = stored;
  state_ = State::kFinished;
  status_ = OpStatus::kDone;
  lease = book_.Make(spec_, spec_.key, acquire_.request.grant, version, born, std::move(stored),
                     sent, passed_on);
  if (!lease && calls_.closed()) {
    failure_ = MakeFailure(Errc::kClosed, "the LockManager was closed");
  } else if (!lease) {
    failure_ = FilledFailure(Errc::kUnavailable, [&](Failure& failure) {
      failure.document = NameOf(*spec_.collection, spec_.key);
      failure.message = GrantedTooLate(calls_.store(), Describe(*spec_.collection, spec_.key));
    });
  }
  return {};
}

Procedure::Step AcquireProcedure::Finish(const StoreOp& op) {
  state_ = State::kFinished;
  status_ = op.status;
  failure_ = FailureOf(op);
  return {};
}

Procedure::Step AcquireProcedure::FinishInDoubt() {
  state_ = State::kFinished;
  status_ = OpStatus::kInDoubt;
  failure_ = MakeFailure(Errc::kInDoubt, *spec_.collection, spec_.key, "whether ",
                         " was locked is unknown; a lock that was taken is given back in the "
                         "background");
  book_.events().InDoubt(*spec_.collection, spec_.key);
  return {};
}

FailurePtr AcquireProcedure::TakeFailure() { return std::move(failure_); }

AcquireResult AcquireProcedure::TakeGranted() noexcept {
  AcquireResult result;
  result.grant.lease = std::move(lease);
  result.grant.body = std::move(body);
  result.grant.created = created;
  return result;
}

}  // namespace doclock::detail
