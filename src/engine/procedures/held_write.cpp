#include "engine/procedures/held_write.h"

#include <utility>

#include "engine/failure.h"
#include "engine/procedures/background_release.h"

namespace doclock::detail {

HeldWrite::HeldWrite(LeasePtr lease, WriteKind kind, Body body)
    : lease_(std::move(lease)),
      write_(*lease_->collection, lease_->key),
      written_(body ? body : lease_->body) {
  write_.write = kind;
  write_.lock_id = lease_->lock_id;
  write_.mode = lease_->mode;
  write_.body = std::move(body);  // with a share: for the store to refuse
  if (lease_->mode == LockMode::kShared) return;
  write_.expected = lease_->version;
  write_.born = lease_->born;
  write_.base = lease_->body;
  write_.ttl = lease_->ttl();
  write_.fence = lease_->fence;
}

void HeldWrite::HandOver(const GrantRequest& next) {
  next_ = next;
  write_.next = &next_;
}

void HeldWrite::Prepare(TimePoint when, bool again) noexcept {
  write_.renewed = lease_->renewed();
  write_.again = again;
  if (!again) sent_ = when;
}

void HeldWrite::Written(std::int64_t version, bool handed_over) noexcept {
  version_ = version;
  handed_over_ = handed_over;
  lease_->version = version;
  lease_->body = written_;
  if (write_.write == WriteKind::kCheckpoint) {
    lease_->set_phase(Phase::kHeld);
    lease_->engine->Prolong(*lease_, sent_, write_.ttl);
    return;
  }
  lease_->set_phase(Phase::kReleased);
  lease_->engine->keeper().Remove(*lease_);
}

FailurePtr HeldWrite::Lost() noexcept {
  lease_->set_phase(Phase::kHeld);
  lease_->engine->Lose(*lease_);
  return Told(Errc::kLost, "the lock of ", " was lost; nothing was written");
}

void HeldWrite::Unknown() noexcept {
  Engine& engine = *lease_->engine;
  lease_->set_phase(Phase::kInDoubt);
  engine.keeper().Remove(*lease_);
  if (write_.next != nullptr) {  // it may have been handed over to a waiter that will never know
    ReleaseGhostInBackground(engine, *lease_->collection, lease_->key, next_.lock_id, next_.mode,
                             engine.Now() + next_.ttl);
  }
  engine.events().InDoubt(*lease_->collection, lease_->key);
}

}  // namespace doclock::detail
