#include "sqlite/locks/owners.h"

namespace doclock::sqlite {
namespace {

/// Owners renew their row with a grant, this often, in seconds ...
constexpr std::int64_t kRefresh = 24 * 3600;
/// ... and are forgotten after this long without. Renewals of a lock do not count: a lock that is
/// held for longer, by an owner who is granted no other one, loses its holder's name.
constexpr std::int64_t kForgetAfter = 2 * 365 * kRefresh;
/// How many names are cached. Users may choose names, perhaps one per request.
constexpr std::size_t kMaxRemembered = 10'000;

}  // namespace

std::int64_t Owners::NumberOf(Connection& writer, const OwnerPtr& owner, std::int64_t unix_time) {
  if (!owner) return 0;
  if (owner == last_ && unix_time - last_entry_.seen < kRefresh) return last_entry_.number;
  if (numbers_.size() >= kMaxRemembered) numbers_.clear();
  Name name(owner->name, owner->host, owner->pid);
  Entry& entry = numbers_[name];
  if (entry.number == 0 || unix_time - entry.seen >= kRefresh) {
    fresh_ = std::move(name);
    entry = Store(writer, *owner, unix_time);
  }
  last_ = owner;
  last_entry_ = entry;
  return entry.number;
}

void Owners::RolledBack() noexcept {
  if (!fresh_) return;
  // One of them may be gone; they are found again.
  numbers_.clear();
  last_.reset();
  fresh_.reset();
  const std::lock_guard guard(mutex_);
  holders_.clear();
}

Owners::Entry Owners::Store(Connection& writer, const LockHolder& owner, std::int64_t unix_time) {
  const Running put(
      writer.Prepared("INSERT INTO doclock_owners(name, host, pid, seen) VALUES(?1,?2,?3,?4) "
                      "ON CONFLICT(name, host, pid) DO UPDATE SET seen=excluded.seen "
                      "RETURNING id"));
  put->Bind(1, std::string_view(owner.name));
  put->Bind(2, std::string_view(owner.host));
  put->Bind(3, owner.pid);
  put->Bind(4, unix_time);
  put->Step();
  const Entry entry{put->Integer(0), unix_time};
  while (put->Step()) {
  }
  const Running forget(writer.Prepared("DELETE FROM doclock_owners WHERE seen < ?1"));
  forget->Bind(1, unix_time - kForgetAfter);
  forget->Step();
  return entry;
}

OwnerPtr Owners::Find(Connection& connection, std::int64_t number) {
  if (number == 0) return nullptr;
  {
    const std::lock_guard guard(mutex_);
    const auto found = holders_.find(number);
    if (found != holders_.end()) return found->second;
  }
  const Running find(connection.Prepared("SELECT name, host, pid FROM doclock_owners WHERE id=?1"));
  find->Bind(1, number);
  if (!find->Step()) return nullptr;
  LockHolder holder;
  holder.name = find->Text(0);
  holder.host = find->Text(1);
  holder.pid = find->Integer(2);
  const std::lock_guard guard(mutex_);
  if (holders_.size() >= kMaxRemembered) holders_.clear();
  auto owner = std::make_shared<const LockHolder>(std::move(holder));
  return holders_.emplace(number, std::move(owner)).first->second;
}

}  // namespace doclock::sqlite
