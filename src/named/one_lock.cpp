/// Renewing and releasing a lock by its id, by a client that has no handle.

#include <optional>
#include <string>

#include "doclock/lock_admin.h"
#include "engine/check_options.h"
#include "engine/engine.h"
#include "engine/failure.h"
#include "named/status.h"

namespace doclock {
namespace {

[[noreturn]] void Throw(Errc code, const detail::Binding& binding, const Key& key,
                        const char* before, const char* after) {
  detail::MakeFailure(code, *binding.collection, key, before, after)->Throw();
}

/// The lock or the share with this id.
LockStatus LockOf(const detail::Binding& binding, const Key& key, const LockFields& lock) {
  LockQuery query;
  query.key = key;
  query.unheld = true;
  bool exists = false;
  std::optional<std::string> malformed;
  std::optional<LockStatus> found;
  detail::ListLocks(binding.engine, *binding.collection, query, [&](LockRow&& row) {
    exists = true;
    if (row.malformed) malformed = named::WhyMalformed(row);
    const bool same = lock.id && !lock.id->is_nil() && row.lock_id == *lock.id;
    if (same) found = named::StatusOf(row, std::chrono::system_clock::now());
  });
  if (!exists) Throw(Errc::kNotFound, binding, key, "doclock: there is no ", "");
  if (malformed) {
    Throw(Errc::kMalformed, binding, key, "doclock: the lock fields of ", malformed->c_str());
  }
  if (!found) Throw(Errc::kNotOwner, binding, key, "doclock: the given id does not lock ", "");
  return *std::move(found);
}

}  // namespace

LockStatus LockAdmin::Renew(const Key& key, const LockFields& lock, Duration ttl) const {
  const detail::Binding& binding = bound();
  if (ttl != Duration()) detail::CheckTtl(ttl, "LockAdmin::Renew: ttl");
  LockStatus status = LockOf(binding, key, lock);
  RenewOp op(*binding.collection, key);
  op.request.lock_id = *lock.id;
  op.request.mode = status.mode;
  op.request.ttl = ttl == Duration() ? status.ttl : ttl.ms();
  op.request.keep_process = true;
  // Documents of another library tell when a lease ends, and not how long it is.
  if (ttl == Duration() && binding.collection->turns() != nullptr) {
    op.status = status.expired ? OpStatus::kLost : OpStatus::kDone;
  } else {
    StoreOp* const alone = &op;
    binding.engine->store().Execute({&alone, 1}, binding.engine->options().call_budget.ms());
  }
  if (op.status == OpStatus::kLost || op.status == OpStatus::kMissing) {
    Throw(Errc::kNotOwner, binding, key, "doclock: the given id does not lock ", " any more");
  }
  if (op.status != OpStatus::kDone) detail::ThrowIf(detail::FailureOf(op));
  named::NoteRenewed(status, op.request.ttl);
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
