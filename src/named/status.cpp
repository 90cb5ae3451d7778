#include "named/status.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <variant>

#include "doclock/lock_admin.h"
#include "doclock/time.h"

namespace doclock {
namespace named {

std::string WhyMalformed(const LockRow& row) {
  if (row.why_malformed.empty()) return " do not hold what this library writes";
  return " are malformed: " + row.why_malformed;
}

namespace {

/// The name itself; of a key that is no text, what stands for it.
std::string_view NameOf(const LockStatus& lock) {
  const auto* const text = std::get_if<std::string>(&lock.key.value());
  return text != nullptr ? *text : lock.name;
}

}  // namespace

LockStatus StatusOf(const LockRow& row, std::chrono::system_clock::time_point now) {
  using TimePoint = std::chrono::system_clock::time_point;
  LockStatus lock;
  lock.key = row.key;
  lock.name = row.key.ToString();
  lock.holder = row.holder;
  lock.group = row.group;
  lock.mode = row.mode;
  lock.version = row.version;
  lock.fence = row.fence;
  lock.unheld = row.lock_id.is_nil() && !row.malformed;
  lock.closed = row.closed;
  lock.expired = !row.live && !lock.unheld;
  lock.malformed = row.malformed;
  lock.waiting = row.waiting;
  lock.next = row.next;
  if (lock.unheld) return lock;
  lock.ttl = row.ttl;
  lock.remaining = row.left;
  lock.age = row.age;
  const auto granted = detail::FloorTo<std::chrono::system_clock::duration>(
      std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch() - row.age);
  lock.granted = granted               ? TimePoint(*granted)
                 : row.age.count() > 0 ? TimePoint::min()
                                       : TimePoint::max();
  return lock;
}

void NoteRenewed(LockStatus& lock, std::chrono::milliseconds ttl) {
  lock.ttl = lock.remaining = std::max(lock.remaining, ttl);
}

bool Matches(const LockStatus& lock, const LockFilter& filter) {
  const auto differs = [](const std::string& wanted, const std::string& is) {
    return !wanted.empty() && wanted != is;
  };
  if (differs(filter.name, lock.name) && lock.key != Key(filter.name)) return false;
  if (!NameOf(lock).starts_with(filter.name_prefix)) return false;
  if (differs(filter.owner, lock.holder.name) || differs(filter.group, lock.group)) return false;
  if (lock.unheld && (filter.granted_before || filter.granted_after)) return false;
  if (filter.granted_before && lock.granted >= *filter.granted_before) return false;
  if (filter.granted_after && lock.granted <= *filter.granted_after) return false;
  if (filter.remaining_below && lock.remaining >= filter.remaining_below->ms()) return false;
  if (filter.remaining_at_least && lock.remaining < filter.remaining_at_least->ms()) return false;
  return !filter.expired || *filter.expired == lock.expired;
}

}  // namespace named

const detail::Binding& LockAdmin::bound() const {
  if (!binding_) detail::ThrowMovedFrom("LockAdmin");
  return *binding_;
}

std::vector<LockStatus> LockAdmin::Status(const LockFilter& filter) const {
  LockQuery query;
  if (!filter.name.empty() && filter.key) {
    throw std::invalid_argument("LockFilter: give a name or a key, not both");
  }
  query.key = filter.key;
  if (!filter.name.empty()) query.key = Key(filter.name);
  query.group = filter.group;
  query.unheld = filter.closed;
  const auto now = std::chrono::system_clock::now();
  std::vector<LockStatus> found;
  detail::ListLocks(bound().engine, *bound().collection, query, [&](LockRow&& row) {
    LockStatus lock = named::StatusOf(row, now);
    if (lock.unheld && !lock.closed) return;
    if (named::Matches(lock, filter)) found.push_back(std::move(lock));
  });
  std::sort(found.begin(), found.end(), [](const LockStatus& a, const LockStatus& b) {
    return std::tie(a.key, a.granted) < std::tie(b.key, b.granted);
  });
  return found;
}

}  // namespace doclock
