#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "doclock/clock.h"
#include "doclock/detail/engine.h"
#include "doclock/runtime.h"

namespace doclock::detail {

/// A caller that waits for a lock, blocked or not. It is settled exactly once: granted, refused,
/// timed out or cancelled; a grant that comes too late is given back by whoever brings it.
///
/// Queued → Claimed (an attempt for it is under way) → gone; guarded by its shard's mutex.
class PendingAcquire : public std::enable_shared_from_this<PendingAcquire> {
 public:
  enum class Place : std::uint8_t { kNowhere, kQueued, kClaimed };

  /// Waits for the document named in the wish, or for any that matches its filter.
  enum class Target : std::uint8_t { kDocument, kAnyMatch };

  PendingAcquire(EnginePtr engine, AcquireSpec wish, Target target, AcquireDone when_done,
                 TimePoint now);

  const EnginePtr engine;
  const AcquireSpec spec;
  const Target target;
  const std::size_t hash;
  const TimePoint started;
  const TimePoint deadline;  ///< TimePoint::max(): for ever.
  Place place = Place::kNowhere;
  Runtime::TimerId timer = 0;  ///< Guarded by the shard's mutex.
  /// Of a search: why its last attempt did not reach the store. Guarded by NextSearches' mutex.
  FailurePtr outage;
  /// Of a writer who waits; made by its first attempt (there is one at a time).
  Uuid intent_id{};

  [[nodiscard]] bool shared() const noexcept { return spec.mode == LockMode::kShared; }
  [[nodiscard]] bool fail_fast() const noexcept { return spec.wait.count() == 0; }
  [[nodiscard]] bool settled() const noexcept { return settled_.load(std::memory_order_acquire); }

  /// False if it was settled before: then `result` is dropped, which gives a grant back.
  bool Settle(AcquireResult result, bool handed_over = false);

  /// Takes it out of its queue and settles it with `code` (kTimedOut, kCancelled).
  void End(Errc code);

 private:
  AcquireDone done_;
  std::atomic<bool> settled_ = false;
};

using PendingPtr = std::shared_ptr<PendingAcquire>;

}  // namespace doclock::detail
