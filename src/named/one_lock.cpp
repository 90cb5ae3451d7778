/// Renewing and releasing a lock by its id, by a client that has no handle.

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "doclock/lock_admin.h"
#include "engine/engine.h"
#include "engine/procedures/procedure.h"
#include "named/status.h"

namespace doclock {
namespace {

[[noreturn]] void ThrowNotOwner(const std::string& what) {
  throw LockException(Errc::kNotOwner, "doclock: the given id does not lock " + what);
}

/// The lock or the share with this id.
LockStatus LockOf(const detail::Binding& binding, const Key& key, const LockFields& lock) {
  const std::string what = detail::Describe(*binding.collection, key);
  LockQuery query;
  query.key = key;
  query.unheld = true;
  bool exists = false, malformed = false;
  std::optional<LockStatus> found;
  detail::ListLocks(binding.engine, *binding.collection, query, [&](LockRow&& row) {
    exists = true;
    malformed = malformed || row.malformed;
    const bool same = lock.id && !lock.id->is_nil() && row.lock_id == *lock.id;
    if (same) found = named::StatusOf(row, std::chrono::system_clock::now());
  });
  if (!exists) throw NotFoundException("doclock: there is no " + what);
  if (malformed) {
    throw StoreException(Errc::kMalformed, "doclock: the lock fields of " + what +
                                               " do not hold what this library writes");
  }
  if (!found) ThrowNotOwner(what);
  return *std::move(found);
}

}  // namespace

LockStatus LockAdmin::Renew(const Key& key, const LockFields& lock, Duration ttl) const {
  const detail::Binding& binding = bound();
  if (ttl != Duration() && (ttl < kMinTtl || ttl > kMaxTtl)) {
    throw std::invalid_argument("LockAdmin::Renew: ttl must be 100 ms to 24 hours");
  }
  LockStatus status = LockOf(binding, key, lock);
  RenewOp op(*binding.collection, key);
  op.lock_id = *lock.id;
  op.mode = status.mode;
  op.ttl = ttl == Duration() ? status.ttl : ttl.ms();
  op.keep_process = true;
  StoreOp* const alone = &op;
  binding.engine->store().Execute({&alone, 1}, binding.engine->options().call_budget.ms());
  if (op.status == OpStatus::kLost || op.status == OpStatus::kMissing) {
    ThrowNotOwner(detail::Describe(*binding.collection, key) + " any more");
  }
  if (op.status != OpStatus::kDone) detail::ThrowIf(detail::FailureOf(op));
  status.remaining = std::max(status.remaining, op.ttl);
  return status;
}

LockStatus LockAdmin::Release(const Key& key, const LockFields& lock) const {
  const detail::Binding& binding = bound();
  LockStatus status = LockOf(binding, key, lock);
  detail::ValueRelease release;
  release.collection = binding.collection.get();
  release.key = key;
  release.lock_id = *lock.id;
  release.mode = status.mode;
  if (lock.version != 0) release.version = lock.version;
  detail::ThrowIf(detail::ReleaseByValue(binding.engine, std::move(release)));
  return status;
}

}  // namespace doclock
