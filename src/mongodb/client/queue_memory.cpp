#include "mongodb/client/queue_memory.h"

#include <algorithm>
#include <chrono>

namespace doclock::mongodb {
namespace {

using std::chrono::seconds;

/// A queue that was not met again for this long is taken for empty.
constexpr seconds kRecent{2};
/// More grants than one process waits for; the oldest are forgotten.
constexpr std::size_t kMostGrants = 1024;

std::uint32_t Now() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint32_t>(std::chrono::floor<seconds>(now).count()) + 1;
}

}  // namespace

void QueueMemory::Met(std::size_t hash) noexcept {
  met_[hash % kSlots].store(Now(), std::memory_order_relaxed);
}

bool QueueMemory::Knows(std::size_t hash) const noexcept {
  const std::uint32_t met = met_[hash % kSlots].load(std::memory_order_relaxed);
  return met != 0 && Now() - met <= static_cast<std::uint32_t>(kRecent.count());
}

void QueueMemory::NoteGrant(const Uuid& lock_id) {
  const std::lock_guard guard(mutex_);
  if (grants_.size() == kMostGrants) grants_.erase(grants_.begin());
  grants_.push_back(lock_id);
}

bool QueueMemory::TakeGrant(const Uuid& lock_id) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = std::find(grants_.begin(), grants_.end(), lock_id);
  if (found == grants_.end()) return false;
  grants_.erase(found);
  return true;
}

}  // namespace doclock::mongodb
