#include "simulation/invariants/store_queues.h"

#include <algorithm>
#include <vector>

#include "doclock/uuid_json.h"

namespace doclock::simulation {
namespace {

struct QueuedWaiter {
  Uuid id;
  bool live = false;
};

Uuid IdOf(const Record& record) {
  const auto id = record.lock.find("id");
  return id == record.lock.end() ? Uuid{} : id->get<Uuid>();
}

/// Who waits for a document, when it is `now`.
std::vector<QueuedWaiter> QueueOf(const Record& record, TimePoint now) {
  std::vector<QueuedWaiter> queue;
  const auto stored = record.lock.find("queue");
  if (stored == record.lock.end()) return queue;
  for (const auto& entry : *stored) {
    const TimePoint until{TimePoint::duration(entry.at("until").get<std::int64_t>())};
    queue.push_back({entry.at("id").get<Uuid>(), now < until});
  }
  return queue;
}

auto Find(const std::vector<QueuedWaiter>& queue, const Uuid& id) {
  return std::find_if(queue.begin(), queue.end(),
                      [&](const QueuedWaiter& waiter) { return waiter.id == id; });
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
    asked_.insert(static_cast<const AcquireOp&>(op).grant.lock_id);
  } else if (op.kind == OpKind::kWrite) {
    const auto& write = static_cast<const WriteOp&>(op);
    if (write.write == WriteKind::kLeave) left_.insert(write.lock_id);
    if (write.next == nullptr) return;
    asked_.insert(write.next->lock_id);
    left_.insert(write.next->entry);
  }
}

std::optional<StoreQueues::Fault> StoreQueues::FaultOf(const Change& change) const {
  if (!change.before || !change.after) return std::nullopt;
  const std::string what = change.collection + "/" + change.key.ToString();
  const auto before = QueueOf(*change.before, change.at);
  const auto after = QueueOf(*change.after, change.at);
  const Uuid id = IdOf(*change.after);
  const bool granted = !id.is_nil() && id != kSharedLockId && id != IdOf(*change.before);
  const auto place = Find(before, id);
  if (!KeepsOrder(before, after)) return Fault{"a waiter keeps its place", what};
  for (const QueuedWaiter& waiter : after) {
    if (!asked_.contains(waiter.id)) {
      return Fault{"no grant without an entry or an attempt", "nobody placed an entry of " + what};
    }
  }
  if (granted && !asked_.contains(id)) {
    return Fault{"no grant without an entry or an attempt", "nobody asked for " + what};
  }
  for (auto waiter = before.begin(); waiter != before.end(); ++waiter) {
    if (!waiter->live || waiter->id == id) continue;
    if (Find(after, waiter->id) == after.end() && !left_.contains(waiter->id)) {
      return Fault{"no waiter is dropped while its entry is live", what};
    }
    // A hand-over leaves its mark, and is no grant from the queue.
    const bool handed_over = place == before.end() && !IdOf(*change.before).is_nil() &&
                             change.after->lock.at("released").get<Uuid>() == IdOf(*change.before);
    if (granted && !handed_over && waiter < place) {
      return Fault{"no waiter is skipped while its entry is live", what};
    }
  }
  return std::nullopt;
}

}  // namespace doclock::simulation
