#include "engine/waiting/key_waits.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/calls/background_release.h"
#include "engine/calls/failure.h"
#include "engine/calls/holder_text.h"
#include "engine/leases/lease.h"
#include "engine/leases/probation.h"
#include "engine/waiting/queue_times.h"
#include "engine/waiting/wait_table.h"

namespace doclock::detail {
namespace {

/// The obstacle that a waiter's last attempt met, for example " locked by worker (host:1)".
std::string StateOf(const Failure* last) {
  if (last && last->kept_closed) return " kept closed by min_hold";
  if (!last || last->holder.name.empty()) return " locked";
  return " locked by " + HolderText(last->holder);
}

std::string WhyNot(Errc code, const std::string& what, const Failure* last) {
  switch (code) {
    case Errc::kTimedOut:
      return what + " was still" + StateOf(last) + " after the time to wait";
    case Errc::kCancelled: {
      const bool known = last && (last->kept_closed || !last->holder.name.empty());
      return "the wait for " + what + (known ? "," + StateOf(last) + "," : "") + " was stopped";
    }
    default:
      return what + " is" + StateOf(last);
  }
}

FailurePtr NoAnswer(const PendingAcquire& waiter) {
  if (waiter.search()) return waiter.NoAnswer();
  return MakeFailure(Errc::kUnavailable, *waiter.spec.collection, waiter.spec.key, "",
                     " could not be used: the store gave no answer within the time to wait");
}

/// Is `other` busy too, if `spec` is?
bool IsAsBusy(const AcquireSpec& spec, const AcquireSpec& other) {
  return spec.mode == other.mode && other.max_holders <= spec.max_holders;
}

/// Takes those out of the queue for which no attempt is under way, and which meet the condition.
template <class Condition>
Waiters TakeQueued(KeyWaits& waits, const Condition& condition) noexcept {
  Waiters taken;
  for (auto next = waits.queue.begin(); next != waits.queue.end();) {
    PendingAcquire& waiter = **next++;
    const bool waits_here = waiter.queue_state == PendingAcquire::QueueState::kQueued;
    if (waits_here && condition(waiter)) waits.LeaveTo(taken, waiter);
  }
  return taken;
}

}  // namespace

FailurePtr BusyFailure(const PendingAcquire& waiter, Errc code, const Failure* last) noexcept {
  if (waiter.search()) return NothingFree(waiter.spec, code);
  return FilledFailure(code, [&](Failure& failure) {
    if (last) {
      failure.holder = last->holder;
      failure.remaining = last->remaining;
      failure.waiting = last->waiting;
      failure.kept_closed = last->kept_closed;
    }
    failure.document = NameOf(*waiter.spec.collection, waiter.spec.key);
    failure.message = WhyNot(code, Describe(*waiter.spec.collection, waiter.spec.key), last);
  });
}

void KeyWaits::Leave(PendingAcquire& waiter) noexcept {
  Waiters left;
  LeaveTo(left, waiter);
}

void KeyWaits::LeaveTo(Waiters& left, PendingAcquire& waiter) noexcept {
  if (waiter.queue_state == PendingAcquire::QueueState::kNotQueued) return;
  waiter.queue_state = PendingAcquire::QueueState::kNotQueued;
  if (waiter.fail_fast()) {
    --failing_fast;
  } else {
    table.hints().Leave(*collection);
  }
  left.splice(left.end(), queue, waiter.where);
}

PendingPtr KeyWaits::Front() noexcept {
  for (auto next = queue.begin(); next != queue.end();) {
    const PendingPtr waiter = *next++;
    if (waiter->queue_state != PendingAcquire::QueueState::kQueued) continue;
    if (!waiter->settled()) return waiter;
    Leave(*waiter);  // it was cancelled on its way here
  }
  return nullptr;
}

PendingPtr KeyWaits::FindMeant(const GrantSeen& seen) noexcept {
  const auto meant = std::find_if(queue.begin(), queue.end(), [&](const PendingPtr& waiter) {
    return waiter->ticket.IsMeantBy(seen) && !waiter->settled();
  });
  return meant == queue.end() ? nullptr : *meant;
}

void KeyWaits::Claim(PendingAcquire& waiter) noexcept {
  if (asking++ == 0) asked_when = table.calls().Now();
  again = false;
  told.reset();
  waiter.queue_state = PendingAcquire::QueueState::kClaimed;
  if (wanted) table.calls().runtime().Cancel(std::exchange(timer, 0));  // its answer sets another
}

void KeyWaits::Unclaim(PendingAcquire& waiter) noexcept {
  --asking;
  if (waiter.queue_state == PendingAcquire::QueueState::kClaimed) {
    waiter.queue_state = PendingAcquire::QueueState::kQueued;
  }
}

void KeyWaits::TakeAnswer(FailurePtr why) noexcept {
  last = std::move(why);
  answered_when = table.calls().Now();
}

void KeyWaits::LeaveGranted(PendingAcquire& waiter) noexcept {
  --asking;
  again = false;
  last = MakeFailure(Errc::kBusy, "");  // only its code is asked for
  asked_when = table.calls().Now();
  Leave(waiter);
}

QueueTicket KeyWaits::TakeTicketOfLeaver(PendingAcquire& waiter) noexcept {
  if (waiter.queue_state != PendingAcquire::QueueState::kNotQueued) return {};
  return std::exchange(waiter.ticket, {});
}

bool KeyWaits::MustHold(const PendingAcquire& front, bool released) const noexcept {
  if (releasing > 0) return true;
  if (shares_releasing == 0) return false;
  // A writer needs all of them to end; a caller that asks only once stops at any of them.
  return !front.shared() || (front.fail_fast() && !released);
}

bool KeyWaits::others_turn() const noexcept {
  return collection->turns() != nullptr && table.calls().Now() < not_before;
}

TimePoint KeyWaits::EntryUntil() const noexcept {
  const Turns* const turns = collection->turns();
  if (turns == nullptr || given_up == TimePoint::min()) return TimePoint::min();
  // A hold that counts with this one began before `length` had passed. Who holds it longer than
  // `after` leaves a turn whatever was before.
  return std::max(not_before, given_up + turns->length + turns->after);
}

bool KeyWaits::EndHold(const Lease& lease) noexcept {
  const Turns& turns = *collection->turns();
  const TimePoint now = table.calls().Now();
  // It may have been granted within a turn, to a caller that only tries: the rest comes now.
  const auto rest = std::min<std::chrono::nanoseconds>(not_before - lease.granted, turns.length);
  const bool is_first = given_up == TimePoint::min();
  // While it was handed over it was not free.
  if (!is_first && lease.handovers == 0 && lease.granted > given_up) {
    left_free += lease.granted - given_up;
  }
  // Others have had as much as a turn, perhaps in pieces.
  const bool anew = is_first || left_free >= turns.length;
  if (anew) left_free = {};
  taken = anew ? lease.granted : std::min(taken, lease.granted);
  given_up = now;
  const bool over = rest.count() > 0 || now - taken >= turns.after;
  if (!over) return false;
  taken = TimePoint::max();
  left_free = {};
  not_before = now + (rest.count() > 0 ? rest : turns.length);
  return true;
}

Waiters KeyWaits::TakeFailFast(const AcquireSpec* busy) noexcept {
  if (failing_fast == 0) return {};  // a hand-over must not walk a long queue
  return TakeQueued(*this, [&](const PendingAcquire& waiter) {
    return waiter.fail_fast() && (!busy || IsAsBusy(*busy, waiter.spec));
  });
}

Waiters KeyWaits::TakeFailFastWriters() noexcept {
  if (failing_fast == 0) return {};
  return TakeQueued(
      *this, [](const PendingAcquire& waiter) { return waiter.fail_fast() && !waiter.shared(); });
}

bool KeyWaits::BringFailFastForward() noexcept {
  if (failing_fast == 0) return false;
  const auto first = std::find_if(queue.begin(), queue.end(), [](const PendingPtr& p) {
    return p->fail_fast() && p->queue_state == PendingAcquire::QueueState::kQueued;
  });
  if (first == queue.end()) return false;
  queue.splice(queue.begin(), queue, first);
  return true;
}

TimePoint KeyWaits::NextInTurn() noexcept {
  TimePoint next = not_before;
  auto first = queue.end();
  for (auto it = queue.begin(); it != queue.end(); ++it) {
    const PendingAcquire& waiter = **it;
    const bool waits = waiter.queue_state == PendingAcquire::QueueState::kQueued;
    if (!waits || waiter.asks_in_turn || waiter.settled() || waiter.last_call() >= next) continue;
    next = waiter.last_call();
    first = it;
  }
  if (first == queue.end() || table.calls().Now() < next) return next;
  queue.splice(queue.begin(), queue, first);
  return next;
}

FailurePtr KeyWaits::WhyEnded(const PendingAcquire& waiter, Errc code) const noexcept {
  if (code == Errc::kTimedOut) {
    if (last && last->code == Errc::kUnavailable) return CopyOf(*last);  // it names the cause
    const TimePoint silent_since = std::max(asked_when, answered_when);
    const bool silent = asking > 0 && table.calls().Now() - silent_since >= kSilence;
    if (silent || AwaitsFirstAnswer(waiter)) return NoAnswer(waiter);
  }
  return BusyFailure(waiter, code, last.get());
}

Waiters KeyWaits::TakeOverdue() noexcept {
  if (!std::exchange(overdue, false)) return {};
  return TakeQueued(*this, [now = table.calls().Now()](const PendingAcquire& waiter) {
    return !waiter.fail_fast() && waiter.deadline <= now;
  });
}

bool LeaveStoreQueue(const PendingAcquire& waiter, const QueueTicket& ticket) noexcept {
  if (!ticket.entered) return false;
  const AcquireSpec& spec = waiter.spec;
  LeaveInBackground(waiter.table->calls(), *spec.collection, spec.key, ticket.id,
                    waiter.table->calls().Now() + EntryLength(spec.ttl) + ProbationOf(spec.ttl));
  return true;
}

void Leavers::Settle(const Failure* why) const noexcept {
  for (const auto& waiter : refused) {
    waiter->Settle(
        {.failure = why ? CopyOf(*why) : BusyFailure(*waiter, Errc::kBusy, nullptr), .grant = {}});
  }
  for (const auto& waiter : overdue) {
    const bool outage = why != nullptr && why->code == Errc::kUnavailable;
    waiter->Settle({.failure = outage ? CopyOf(*why) : BusyFailure(*waiter, Errc::kTimedOut, why),
                    .grant = {}});
  }
}

}  // namespace doclock::detail
