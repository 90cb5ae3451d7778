#include "rules/tidying.h"

#include <memory>
#include <utility>

#include "rules/acquire.h"
#include "rules/shares.h"

namespace doclock::rules {
namespace {

constexpr std::chrono::seconds kStolenTtl{30};

/// A holder that no process is.
OwnerPtr Stranger() {
  static const OwnerPtr kStranger = [] {
    LockHolder holder;
    holder.name = "stranger";
    return std::make_shared<const LockHolder>(std::move(holder));
  }();
  return kStranger;
}

void Clear(LockState& state) noexcept {
  state.shares.clear();
  state.lock_id = Uuid{};
}

void Steal(LockState& state, const Uuid& fresh, TimePoint now) {
  GrantRequest grant;
  grant.lock_id = fresh;
  grant.ttl = kStolenTtl;
  grant.owner = Stranger();
  Grant(state, grant, now);
}

}  // namespace

void Purge(LockState& state) noexcept {
  Clear(state);
  state.queue.clear();
  state.owner = nullptr;
}

bool Intervene(LockState& state, Intervention what, const Uuid& fresh, TimePoint now) {
  state.passed_on = {};
  if (what != Intervention::kSteal && !state.HasLockId()) return false;
  switch (what) {
    case Intervention::kExpire:
      state.IsShared() ? ExpireShares(state, now) : state.lease.Expire(now);
      break;
    case Intervention::kBreak:
      ++state.version;
      Clear(state);
      PassOn(state, now);
      // A mark of its own: the holder's would tell it that its release was done.
      state.released = fresh;
      break;
    case Intervention::kSteal:
      Steal(state, fresh, now);
      break;
  }
  return true;
}

}  // namespace doclock::rules
