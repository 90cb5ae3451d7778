#include "engine/waiting/pending_acquire.h"

#include <algorithm>
#include <string>

#include "engine/calls/failure.h"
#include "engine/waiting/search.h"
#include "engine/waiting/wait_table.h"

namespace doclock::detail {
namespace {

/// An entry is worth its writes if the caller waits for more answers of the store than these. A
/// shorter wait mostly ends before its turn: then the lock is granted to a waiter that has gone,
/// and others wait for it.
constexpr int kQueueingCost = 4;

TimePoint DeadlineAfter(TimePoint now, Duration wait) {
  const auto left = TimePoint::max() - now;
  return wait.ms() >= std::chrono::duration_cast<std::chrono::milliseconds>(left) ? TimePoint::max()
                                                                                  : now + wait.ms();
}

}  // namespace

PendingAcquire::PendingAcquire(std::shared_ptr<WaitTable> waits, AcquireSpec wish, Target what,
                               AcquireDone when_done, TimePoint now)
    : table(std::move(waits)),
      spec(std::move(wish)),
      target(what),
      hash(search() ? HashOfSearches(*spec.collection) : spec.key.Hash()),
      started(now),
      deadline(DeadlineAfter(now, spec.wait)),
      done_(std::move(when_done)) {}

PendingAcquire::~PendingAcquire() {
  // In a forked child the mutex may stay locked forever.
  if (table->calls().ours()) table->pendings().Remove(*this);
}

bool PendingAcquire::uses_store_queue() const noexcept {
  if (!table->calls().store_has_queue() || spec.collection->turns() != nullptr || fail_fast())
    return false;
  if (ticket.entered) return true;
  // In milliseconds: a wait may be longer than nanoseconds can count.
  const auto cost = std::chrono::floor<std::chrono::milliseconds>(kQueueingCost * first_answer);
  return spec.wait.ms() > cost && table->calls().Now() < deadline;
}

bool PendingAcquire::Settle(AcquireResult result, bool handed_over) noexcept {
  if (settled_.exchange(true, std::memory_order_acq_rel)) {
    GiveBack(std::move(result.grant));  // it may have been granted just before the engine closed
    return false;
  }
  table->leases().events().WaitEnded(told_, *spec.collection, spec.key);
  if (result.grant.lease) {
    table->leases().events().Granted(*result.grant.lease, table->calls().Now() - started,
                                     handed_over);
  } else if (result.failure && !once &&
             (result.failure->code == Errc::kBusy || result.failure->code == Errc::kTimedOut ||
              result.failure->code == Errc::kCancelled)) {
    table->leases().events().Busy(*spec.collection, spec.key, *result.failure);
  }
  table->calls().runtime().Cancel(clock_.exchange(0));
  const AcquireDone done = std::move(done_);
  done(std::move(result));
  return true;
}

void PendingAcquire::Forget() noexcept {
  if (settled_.exchange(true, std::memory_order_acq_rel)) return;
  table->leases().events().WaitEnded(told_, *spec.collection, spec.key);
  table->calls().runtime().Cancel(clock_.exchange(0));
}

void PendingAcquire::BeginWaiting(std::optional<int> ahead) noexcept {
  if (!fail_fast()) table->leases().events().Waiting(told_, *spec.collection, spec.key, ahead);
}

void PendingAcquire::StartClock() {
  if (fail_fast() || deadline == TimePoint::max()) return;
  if (clock_ == 0 || table->calls().Now() >= deadline) SetClock(deadline);
}

void PendingAcquire::SetClock(TimePoint when) {
  const auto timer = table->calls().runtime().Schedule(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->TimeIsUp();
  });
  table->calls().runtime().Cancel(clock_.exchange(timer));
  if (settled()) table->calls().runtime().Cancel(clock_.exchange(0));
}

bool PendingAcquire::WaitForFirstAnswer() noexcept {
  const TimePoint latest = started + kFirstAnswer;
  if (table->calls().Now() >= latest) return false;
  SetClock(latest);
  return true;
}

void PendingAcquire::TimeIsUp() noexcept {
  if (table->AwaitsFirstAnswer(*this)) return;
  if (answered) return End(Errc::kTimedOut);
  Settle({.failure = NoAnswer(), .grant = {}});
}

FailurePtr PendingAcquire::NoAnswer() const noexcept {
  if (!search()) {
    return MakeFailure(Errc::kUnavailable, *spec.collection, spec.key,
                       "the store was asked whether ", " is free, and gave no answer in time");
  }
  return MakeFailure(Errc::kUnavailable, [this] {
    return "the store was asked for a free document of '" + spec.collection->name() +
           "', and gave no answer in time";
  });
}

void PendingAcquire::End(Errc code) noexcept { table->End(*this, code); }

}  // namespace doclock::detail
