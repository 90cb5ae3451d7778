#include "engine/leases/lease.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace doclock::detail {
namespace {

/// The common stop source of leases that were lost before lost() was called. Never destroyed.
std::stop_source& LostBefore() {
  static std::stop_source* const kStopped = [] {
    auto* source = new std::stop_source();
    source->request_stop();
    return source;
  }();
  return *kStopped;
}

}  // namespace

Lease::Lease(EnginePtr owner, const AcquireSpec& spec, Key document, const GrantRequest& grant,
             std::int64_t granted_version, const Uuid& incarnation, Body stored, TimePoint now,
             TimePoint deadline, bool passed_on)
    : engine(std::move(owner)),
      collection(spec.collection),
      key(std::move(document)),
      lock_id(grant.lock_id),
      born(incarnation),
      fence(granted_version),
      granted(now),
      version(granted_version),
      body(std::move(stored)),
      deadline_(deadline.time_since_epoch().count()),
      ttl_ms_(static_cast<std::uint32_t>(grant.ttl.count())),
      min_hold_ms_(static_cast<std::uint32_t>(grant.min_hold.count())),
      renews_(spec.renew),
      on_probation_(passed_on),
      named(spec.named),
      mode(grant.mode) {}

Lease::~Lease() {
  std::stop_source* const source = lost_source_.load(std::memory_order_acquire);
  if (source != nullptr && source != &LostBefore()) delete source;
}

void Lease::Extend(TimePoint deadline) noexcept {
  const std::int64_t later = deadline.time_since_epoch().count();
  renewed_.store(true, std::memory_order_relaxed);
  on_probation_.store(false, std::memory_order_relaxed);
  std::int64_t now = deadline_.load(std::memory_order_relaxed);
  while (now < later && !deadline_.compare_exchange_weak(now, later, std::memory_order_acq_rel)) {
  }
}

TimePoint Lease::stored_until() const noexcept {
  return std::max(deadline(), TimePoint(std::chrono::nanoseconds(stored_until_.load())));
}

void Lease::NoteStoredUntil(TimePoint when) noexcept {
  const auto until = when.time_since_epoch().count();
  auto noted = stored_until_.load();
  while (noted < until && !stored_until_.compare_exchange_weak(noted, until)) {
  }
}

bool Lease::BeginWrite() noexcept {
  Phase held = Phase::kHeld;
  return phase_.compare_exchange_strong(held, Phase::kWriting, std::memory_order_acq_rel);
}

void Lease::FireLost() {
  std::stop_source* source = nullptr;
  if (lost_source_.compare_exchange_strong(source, &LostBefore(), std::memory_order_acq_rel))
    return;
  source->request_stop();
}

std::stop_token Lease::LostToken() {
  std::stop_source* source = lost_source_.load(std::memory_order_acquire);
  if (source != nullptr) return source->get_token();
  std::unique_ptr<std::stop_source> fresh;
  if (!lost()) fresh = std::make_unique<std::stop_source>();
  std::stop_source* const mine = fresh ? fresh.get() : &LostBefore();
  if (lost_source_.compare_exchange_strong(source, mine, std::memory_order_acq_rel)) {
    source = mine;
    static_cast<void>(fresh.release());
  }
  return source->get_token();
}

void intrusive_ptr_add_ref(Lease* lease) noexcept {
  lease->references_.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(Lease* lease) noexcept {
  if (lease->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete lease;
}

}  // namespace doclock::detail
