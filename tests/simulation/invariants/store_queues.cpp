#include "simulation/invariants/store_queues.h"

#include <algorithm>
#include <vector>

#include "doclock/json/uuid.h"

namespace doclock::simulation {
namespace {

struct QueuedWaiter {
  Uuid id;
  bool shared = false;
};

Uuid IdOf(const Record& record) {
  const auto id = record.lock.find("id");
  return id == record.lock.end() ? Uuid{} : id->get<Uuid>();
}

/// Who waits for a document, when it is `now`. A waiter whose entry is over comes as a new one.
std::vector<QueuedWaiter> QueueOf(const Record& record, TimePoint now) {
  std::vector<QueuedWaiter> queue;
  const auto stored = record.lock.find("queue");
  if (stored == record.lock.end()) return queue;
  for (const auto& entry : *stored) {
    const TimePoint until{TimePoint::duration(entry.at("until").get<std::int64_t>())};
    if (now < until) queue.push_back({entry.at("id").get<Uuid>(), entry.contains("share")});
  }
  return queue;
}

auto Find(const std::vector<QueuedWaiter>& queue, const Uuid& id) {
  return std::find_if(queue.begin(), queue.end(),
                      [&](const QueuedWaiter& waiter) { return waiter.id == id; });
}

std::set<Uuid> SharesOf(const Record& record) {
  std::set<Uuid> ids;
  const auto stored = record.lock.find("shares");
  if (stored == record.lock.end()) return ids;
  for (const auto& share : *stored) ids.insert(share.at("id").get<Uuid>());
  return ids;
}

/// Whom a change granted the lock, or a share of it.
std::set<Uuid> GrantedBy(const Change& change) {
  std::set<Uuid> granted;
  const std::set<Uuid> before = SharesOf(*change.before);
  for (const Uuid& id : SharesOf(*change.after)) {
    if (!before.contains(id)) granted.insert(id);
  }
  const Uuid id = IdOf(*change.after);
  if (!id.is_nil() && id != kSharedLockId && id != IdOf(*change.before)) granted.insert(id);
  return granted;
}

/// Do those who waited before and still wait stand in the same order, and new ones behind them?
bool KeepsOrder(const std::vector<QueuedWaiter>& before, const std::vector<QueuedWaiter>& after) {
  auto place = before.begin();
  for (const QueuedWaiter& waiter : after) {
    const auto found = Find(before, waiter.id);
    if (found < place) return false;
    place = found == before.end() ? found : found + 1;
  }
  return true;
}

}  // namespace

void StoreQueues::OnRequest(const StoreOp& op) {
  if (op.kind == OpKind::kAcquire) {
    asked_.insert(static_cast<const AcquireOp&>(op).request.grant.lock_id);
  } else if (op.kind == OpKind::kWrite) {
    const auto& write = static_cast<const WriteOp&>(op);
    if (write.request.write == WriteKind::kLeave) left_.insert(write.request.lock_id);
    if (write.request.next == nullptr) return;
    asked_.insert(write.request.next->lock_id);
    left_.insert(write.request.next->entry);
  }
}

std::optional<StoreQueues::Fault> StoreQueues::FaultOf(const Change& change) const {
  if (!change.before || !change.after) return std::nullopt;
  const std::string what = change.collection + "/" + change.key.ToString();
  const auto before = QueueOf(*change.before, change.at);
  const auto after = QueueOf(*change.after, change.at);
  const std::set<Uuid> granted = GrantedBy(change);
  if (!KeepsOrder(before, after)) return Fault{"a waiter keeps its place", what};
  for (const QueuedWaiter& waiter : after) {
    if (!asked_.contains(waiter.id)) {
      return Fault{"no grant without an entry or an attempt", "nobody placed an entry of " + what};
    }
  }
  for (const QueuedWaiter& waiter : before) {
    const bool waits = Find(after, waiter.id) != after.end() || granted.contains(waiter.id);
    if (!waits && !left_.contains(waiter.id)) {
      return Fault{"no waiter is dropped while its entry is live", what};
    }
  }
  // A hand-over leaves its mark, and is no grant from the queue.
  const bool marked = !IdOf(*change.before).is_nil() &&
                      change.after->lock.at("released").get<Uuid>() == IdOf(*change.before);
  const bool shared = IdOf(*change.after) == kSharedLockId;
  for (const Uuid& id : granted) {
    if (!asked_.contains(id)) {
      return Fault{"no grant without an entry or an attempt", "nobody asked for " + what};
    }
    const auto place = Find(before, id);
    if (marked && !shared && place == before.end()) continue;
    const auto skipped = [&](const QueuedWaiter& waiter) {
      const bool leaves = left_.contains(waiter.id) && Find(after, waiter.id) == after.end();
      return !leaves && !(shared && waiter.shared);
    };
    if (std::any_of(before.begin(), place, skipped)) {
      return Fault{"no waiter is skipped while its entry is live", what};
    }
  }
  return std::nullopt;
}

}  // namespace doclock::simulation
