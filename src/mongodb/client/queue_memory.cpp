#include "mongodb/client/queue_memory.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace doclock::mongodb {
namespace {

using std::chrono::seconds;

/// A queue that was not met again for this long is taken for empty.
constexpr seconds kRecent{2};
/// More grants than one process waits for; the oldest are forgotten.
constexpr std::size_t kMostGrants = 1024;
/// How many of them are kept with their documents.
constexpr std::size_t kMostDocuments = 64;

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

void QueueMemory::NoteGrant(ToldGrant grant) {
  const std::lock_guard guard(mutex_);
  if (grants_.size() == kMostGrants) grants_.erase(grants_.begin());
  grants_.push_back(std::move(grant));
  if (grants_.size() > kMostDocuments) grants_[grants_.size() - 1 - kMostDocuments].document = {};
}

std::optional<ToldGrant> QueueMemory::TakeGrant(const Uuid& lock_id) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = std::find_if(grants_.begin(), grants_.end(),
                                  [&](const ToldGrant& grant) { return grant.lock_id == lock_id; });
  if (found == grants_.end()) return std::nullopt;
  std::optional<ToldGrant> grant(std::move(*found));
  grants_.erase(found);
  return grant;
}

}  // namespace doclock::mongodb
