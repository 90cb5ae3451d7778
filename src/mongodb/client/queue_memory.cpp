#include "mongodb/client/queue_memory.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace doclock::mongodb {
namespace {

using std::chrono::seconds;

/// A queue that was not met again for this long is taken for empty.
constexpr seconds kRecent{2};
/// More grants, and entries, than one process waits for; the oldest are forgotten.
constexpr std::size_t kMostGrants = 1024;
/// How many of them are kept with their documents.
constexpr std::size_t kMostDocuments = 64;

std::uint32_t Now() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint32_t>(std::chrono::floor<seconds>(now).count()) + 1;
}

template <class Noted>
auto FindOf(std::vector<Noted>& all, const Uuid& lock_id) noexcept {
  return std::find_if(all.begin(), all.end(),
                      [&](const Noted& noted) { return noted.lock_id == lock_id; });
}

}  // namespace

void QueueMemory::Met(std::size_t hash) noexcept {
  met_[hash % kSlots].store(Now(), std::memory_order_relaxed);
}

bool QueueMemory::Knows(std::size_t hash) const noexcept {
  const std::uint32_t met = met_[hash % kSlots].load(std::memory_order_relaxed);
  return met != 0 && Now() - met <= static_cast<std::uint32_t>(kRecent.count());
}

void QueueMemory::NoteEntry(const MetDocument& met) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = FindOf(entries_, met.lock_id);
  if (found != entries_.end()) {
    *found = met;
    return;
  }
  try {
    if (entries_.size() == kMostGrants) entries_.erase(entries_.begin());
    entries_.push_back(met);
  } catch (const std::bad_alloc&) {
    // The waiter reads what it was granted.
  }
}

std::optional<QueueMemory::MetDocument> QueueMemory::LastMet(const Uuid& lock_id) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = FindOf(entries_, lock_id);
  return found == entries_.end() ? std::nullopt : std::optional(*found);
}

void QueueMemory::NoteGrant(ToldGrant grant) {
  const std::lock_guard guard(mutex_);
  if (grants_.size() == kMostGrants) grants_.erase(grants_.begin());
  grants_.push_back(std::move(grant));
  if (grants_.size() > kMostDocuments) grants_[grants_.size() - 1 - kMostDocuments].document = {};
}

std::optional<ToldGrant> QueueMemory::TakeGrant(const Uuid& lock_id) noexcept {
  const std::lock_guard guard(mutex_);
  const auto found = FindOf(grants_, lock_id);
  if (found == grants_.end()) return std::nullopt;
  std::optional<ToldGrant> grant(std::move(*found));
  grants_.erase(found);
  return grant;
}

}  // namespace doclock::mongodb
