#include "plain/record.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace doclock::plain_test {
namespace {

using rules::LockState;
using rules::Share;
using std::chrono::hours;

constexpr std::uint8_t kOurs = 0xaa;

std::string OwnerText(const OwnerPtr& owner) { return owner ? owner->name : "-"; }

std::string ShareText(const Share& share) {
  return " [" + TextOf(share.id) + TextOf(share.lease.End() - kNow) + " of " +
         OwnerText(share.owner) + " in " + share.group + " at " + std::to_string(share.fence) + "]";
}

std::string QueueText(const LockState& lock) {
  std::string text;
  for (const rules::QueueEntry& entry : lock.queue) {
    if (!entry.IsLive(kNow)) continue;
    text += " (" + TextOf(entry.id) + " until" + TextOf(entry.until - kNow) + " for" +
            TextOf(entry.ttl) + ", min_hold" + TextOf(entry.min_hold) + " of " +
            OwnerText(entry.owner) + " in " + entry.group;
    if (entry.mode == LockMode::kShared) text += " as one of " + std::to_string(entry.max_holders);
    text += ")";
  }
  return text.empty() ? text : ", queue" + text;
}

std::string LockText(const LockState& lock) {
  const std::string end =
      lock.IsLive(kNow) ? TextOf(lock.lease.End() - kNow) : std::string(" over");
  if (!lock.HasLockId()) return " free";
  if (!lock.IsShared()) {
    return " held by " + TextOf(lock.lock_id) + TextOf(lock.lease.since - kNow) + " for" +
           TextOf(lock.lease.ttl) + " of " + OwnerText(lock.owner) + " in " + lock.group + " at " +
           std::to_string(lock.fence);
  }
  std::vector<std::string> live;
  for (const Share& share : lock.shares) {
    if (share.lease.IsLive(kNow)) live.push_back(ShareText(share));
  }
  std::sort(live.begin(), live.end());
  std::string text = " shared," + end;
  for (const std::string& share : live) text += share;
  return text;
}

}  // namespace

Uuid IdOf(int number, std::uint64_t case_number) {
  Uuid id = {{kOurs}};
  std::memcpy(&id.data[1], &case_number, sizeof case_number);
  id.data[15] = static_cast<std::uint8_t>(number);
  return id;
}

std::string TextOf(const Uuid& id) {
  if (id.is_nil()) return "none";
  if (id == kSharedLockId) return "the shared id";
  return id.data[0] == kOurs && id.data[14] == 0 ? "id" + std::to_string(id.data[15]) : "a new id";
}

std::string TextOf(std::chrono::nanoseconds time) {
  const std::string text = std::to_string(std::chrono::round<hours>(time).count());
  return " " + text + "h";
}

std::string TextOf(const std::optional<Record>& record) {
  if (!record) return "missing";
  const LockState& lock = record->lock;
  std::string text = record->body.dump() + LockText(lock);
  text += ", version " + std::to_string(lock.version) + ", born " + TextOf(lock.born);
  text += ", released " + TextOf(lock.released);
  if (lock.IsClosed(kNow)) text += ", closed" + TextOf(lock.closed_until - kNow);
  return text + QueueText(lock);
}

}  // namespace doclock::plain_test
