#include "engine/leases/lease_book.h"

#include <algorithm>
#include <utility>

#include "engine/calls/background_release.h"

namespace doclock::detail {

LeaseBook::LeaseBook(std::shared_ptr<StoreCalls> calls, std::weak_ptr<Engine> engine)
    : calls_(std::move(calls)),
      engine_(std::move(engine)),
      events_(calls_->options().observer, calls_->runtime()),
      keeper_(std::make_shared<Keeper>(*this)) {}

TimePoint LeaseBook::DeadlineOf(TimePoint sent, std::chrono::milliseconds ttl) const noexcept {
  const std::chrono::nanoseconds lease = ttl;
  // Read each time: a store may find that its members' clocks have moved apart.
  return sent + lease - lease / 1000 - calls_->store().traits().clock_margin;
}

LeasePtr LeaseBook::Make(const AcquireSpec& spec, const Key& key, const GrantRequest& grant,
                         std::int64_t version, const Uuid& born, Body body, TimePoint sent,
                         bool passed_on) noexcept {
  const auto length = passed_on ? ProbationOf(grant.ttl) : grant.ttl;
  const TimePoint deadline = DeadlineOf(sent, length);
  EnginePtr engine = engine_.lock();  // null: it was closed, and has gone
  if (engine && calls_->Now() < deadline) {
    LeasePtr lease(new Lease(std::move(engine), spec, key, grant, version, born, std::move(body),
                             calls_->Now(), deadline, passed_on));
    keeper_->Add(*lease);
    if (!calls_->closed()) return lease;
    keeper_->Remove(*lease);  // its renewals have ended
  }
  ReleaseInBackground(*calls_, *spec.collection, key, grant.lock_id, grant.mode,
                      calls_->Now() + grant.ttl);
  return nullptr;
}

bool LeaseBook::Prolong(Lease& lease, TimePoint sent, std::chrono::milliseconds ttl) noexcept {
  if (!lease.lost() && calls_->Now() < lease.deadline()) {
    lease.Extend(DeadlineOf(sent, ttl));
    keeper_->Refresh(lease);
    return true;
  }
  Lose(lease);
  GiveBack(lease, calls_->Now() + ttl);
  return false;
}

void LeaseBook::Lose(Lease& lease) noexcept {
  const Phase phase = lease.phase();
  if (phase != Phase::kHeld && phase != Phase::kWriting) return;
  if (!lease.MarkLost()) return;
  const LeasePtr keep(&lease);
  keeper_->Remove(lease);
  events_.Ended(lease, Ending::kLost);
  calls_->runtime().Notify([keep] { keep->FireLost(); });
  GiveBackLost(lease);
}

void LeaseBook::GiveBackLost(Lease& lease) noexcept {
  const TimePoint until = lease.stored_until();
  if (calls_->closed() || until <= std::max(lease.deadline(), calls_->Now())) return;
  GiveBack(lease, until);
}

void LeaseBook::GiveBack(const Lease& lease, TimePoint until) noexcept {
  ReleaseInBackground(*calls_, *lease.collection, lease.key, lease.lock_id, lease.mode, until);
}

GrantRequest MakeGrant(const AcquireSpec& spec) {
  return {.lock_id = NewUuid(),
          .ttl = spec.ttl,
          .owner = spec.owner,
          .min_hold = spec.min_hold,
          .group = spec.group,
          .mode = spec.mode,
          .max_holders = spec.max_holders};
}

std::string GrantedTooLate(const Store& store, const std::string& what) {
  std::string text = "the store granted " + what + " only after the lease had ended";
  const auto margin = std::chrono::ceil<std::chrono::milliseconds>(store.traits().clock_margin);
  // No lease is so short that a smaller margin ends it.
  if (margin < kMinTtl.ms() / 2) return text;
  return text + ": a holder gives up its lease " + std::to_string(margin.count()) +
         " ms early, because the clocks of the store's servers differ by up to that much; "
         "synchronise them, for example by NTP (the check 'clocks' of `doclock doctor` names them)";
}

}  // namespace doclock::detail
