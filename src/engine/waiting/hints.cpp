#include "engine/waiting/hints.h"

#include <chrono>
#include <utility>
#include <vector>

#include "engine/waiting/wait_table.h"

namespace doclock::detail {
namespace {

/// How long an unused subscription is kept.
constexpr std::chrono::seconds kLinger{1};

/// How long a store that gave no subscription is not asked for one.
constexpr std::chrono::seconds kRefused{5};

}  // namespace

Hints::Hints(WaitTable& table)
    : table_(table), subscribing_(std::make_shared<LimitedWork>(table.calls().runtime(), 1)) {}

std::shared_ptr<Hints::Entry> Hints::EntryOf(Collection& collection) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(&collection);
  return found == entries_.end() ? nullptr : found->second;
}

std::shared_ptr<Hints::Entry> Hints::EntryFor(Collection& collection) {
  if (auto entry = EntryOf(collection)) return entry;
  auto fresh = std::make_shared<Entry>();
  const std::scoped_lock lock(mutex_);
  return entries_.try_emplace(&collection, std::move(fresh)).first->second;
}

void Hints::Enter(Collection& collection) {
  const auto entry = EntryFor(collection);
  {
    const std::scoped_lock lock(entry->mutex);
    ++entry->waiters;
    if (entry->requested || table_.calls().Now() < entry->not_before) return;
    entry->requested = true;
  }
  subscribing_->Run([weak = table_.weak_from_this(), entry, &collection] {
    if (const auto table = weak.lock()) table->hints().Subscribe(collection, *entry);
  });
}

void Hints::Subscribe(Collection& collection, Entry& entry) {
  {
    const std::scoped_lock lock(entry.subscribing);
    if (entry.ended || table_.calls().closed()) return;
    try {
      entry.subscription = table_.calls().store().Watch(
          collection, [weak = table_.weak_from_this(), &collection](const LockHint& hint) {
            if (const auto table = weak.lock()) table->Hear(collection, hint);
          });
      entry.heard = entry.subscription != nullptr;
    } catch (...) {
      // Hints are optional: without them waiters poll.
    }
    if (!entry.heard) {  // its waiters poll; one that comes later asks again
      const std::scoped_lock guard(entry.mutex);
      entry.requested = false;
      entry.not_before = table_.calls().Now() + kRefused;
      return;
    }
  }
  table_.Hear(collection, {});
}

void Hints::Leave(Collection& collection) noexcept {
  const auto entry = EntryOf(collection);
  if (!entry) return;
  const std::scoped_lock lock(entry->mutex);
  if (--entry->waiters > 0 || entry->linger) return;
  entry->linger = true;
  table_.calls().runtime().Schedule(table_.calls().Now() + kLinger,
                                    [weak = table_.weak_from_this(), entry] {
                                      if (const auto table = weak.lock())
                                        table->hints().EndOnWorker(entry);
                                    });
}

void Hints::EndOnWorker(const std::shared_ptr<Entry>& entry) noexcept {
  // Ending a subscription may wait for a hint under way: not on the engine's thread.
  subscribing_->Run([weak = table_.weak_from_this(), entry] {
    if (const auto table = weak.lock()) table->hints().EndIfIdle(entry);
  });
}

bool Hints::Heard(Collection& collection) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(&collection);
  return found != entries_.end() && found->second->heard;
}

void Hints::EndIfIdle(const std::shared_ptr<Entry>& entry) {
  std::unique_ptr<Subscription> ended;
  const std::scoped_lock subscribing(entry->subscribing);
  {
    const std::scoped_lock lock(entry->mutex);
    entry->linger = false;
    if (entry->waiters > 0) return;
    entry->requested = false;
  }
  // A waiter that comes now requests a new one, which waits for `subscribing`.
  entry->heard = false;
  ended = std::move(entry->subscription);
}

void Hints::Close() {
  std::map<Collection*, std::shared_ptr<Entry>> entries;
  {
    const std::scoped_lock lock(mutex_);
    entries.swap(entries_);
  }
  for (const auto& [collection, entry] : entries) {
    std::unique_ptr<Subscription> ended;
    const std::scoped_lock lock(entry->subscribing);
    entry->ended = true;
    ended = std::move(entry->subscription);
  }
}

}  // namespace doclock::detail
