#include "doclock/held_lock.h"

#include <variant>

#include "engine/check_options.h"

namespace doclock {

namespace detail {

HeldState::~HeldState() {
  if (!ended.load(std::memory_order_acquire)) Abandon(lease);
}

}  // namespace detail

const detail::HeldState& HeldLock::state() const {
  if (!state_) detail::ThrowEmptyHandle();
  return *state_;
}

const detail::HeldStatePtr& HeldLock::Active() const {
  if (!state_ || state_->ended.load(std::memory_order_acquire)) detail::ThrowEmptyHandle();
  return state_;
}

const std::string& HeldLock::name() const {
  return std::get<std::string>(detail::LeaseKey(*state().lease).value());
}

const Uuid& HeldLock::lock_id() const { return detail::LeaseLockId(*state().lease); }

std::int64_t HeldLock::fence() const { return detail::LeaseFence(*state().lease); }

std::stop_token HeldLock::lost() const { return detail::LeaseLost(state().lease); }

std::chrono::nanoseconds HeldLock::Remaining() const noexcept {
  return held() ? detail::LeaseRemaining(*state_->lease) : std::chrono::nanoseconds::zero();
}

bool HeldLock::held() const noexcept {
  return state_ && !state_->ended.load(std::memory_order_acquire) &&
         detail::LeaseHeld(*state_->lease);
}

void HeldLock::CheckTtl(Duration ttl) {
  if (ttl != Duration()) detail::CheckTtl(ttl, "HeldLock::Renew: ttl");
}

void HeldLock::Renew(Duration ttl) {
  CheckTtl(ttl);
  detail::ThrowIf(detail::Renew(Active()->lease, ttl.ms()));
}

void HeldLock::Release() {
  detail::ThrowIf(detail::Write(Active()->lease, WriteKind::kRelease, Body()));
  detail::HeldEnded{state_}();
}

void HeldLock::Detach() {
  detail::ThrowIf(detail::Detach(Active()->lease));
  detail::HeldEnded{state_}();
}

}  // namespace doclock
