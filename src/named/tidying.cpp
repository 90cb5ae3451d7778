#include <array>
#include <stdexcept>
#include <utility>

#include "doclock/lock_admin.h"
#include "document/throttle.h"
#include "engine/check_options.h"
#include "engine/engine.h"
#include "engine/failure.h"
#include "named/status.h"

namespace doclock {
namespace {

/// Names per call of the store: few, so that no call delays others for long.
constexpr std::size_t kForgetAtOnce = 100;

/// Deletes those of the given names that are still unused. Returns how many.
std::int64_t Forget(const detail::Binding& binding, const std::vector<LockRow>& rows) {
  std::vector<SaveOp> erasures;
  erasures.reserve(rows.size());
  std::vector<StoreOp*> ops;
  for (const LockRow& row : rows) {
    SaveOp& op = erasures.emplace_back(*binding.collection, row.key);
    op.request.save = SaveKind::kErase;
    op.request.expected = row.version;
    op.request.born = row.born;
    op.request.write_id = NewUuid();
    ops.push_back(&op);
  }
  binding.engine->store().Execute(ops, binding.engine->options().call_budget.ms());
  std::int64_t forgotten = 0;
  for (const SaveOp& op : erasures) {
    if (op.status == OpStatus::kDone) ++forgotten;
    if (op.status == OpStatus::kFailed || op.status == OpStatus::kInDoubt) {
      detail::ThrowIf(detail::FailureOf(op));
    }
  }
  return forgotten;
}

std::int64_t ForgetIdle(const detail::Binding& binding, Duration idle_for) {
  LockQuery query;
  query.unheld = true;
  std::int64_t forgotten = 0;
  std::vector<LockRow> idle;
  detail::ListLocks(binding.engine, *binding.collection, query, [&](LockRow&& row) {
    const bool unused = row.lock_id.is_nil() && !row.closed && !row.has_body && !row.malformed;
    if (!unused || row.age < idle_for.ms()) return;
    idle.push_back(std::move(row));
    if (idle.size() < kForgetAtOnce) return;
    forgotten += Forget(binding, idle);
    idle.clear();
    detail::RestBetweenSteps(std::chrono::steady_clock::time_point::max());
  });
  if (!idle.empty()) forgotten += Forget(binding, idle);
  return forgotten;
}

/// In milliseconds.
std::int64_t UnixTime() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// The note in the document about who broke its lock.
Body BrokenNote(const LockHolder& breaker, const LockStatus& lock) {
  return Body::FromJson({{"broken",
                          {{"by", breaker.name},
                           {"host", breaker.host},
                           {"pid", breaker.pid},
                           {"at", UnixTime()},
                           {"holder", lock.holder.name},
                           {"holderHost", lock.holder.host},
                           {"holderPid", lock.holder.pid}}}});
}

/// May the document hold the note? A user's body stays as it is.
bool MayBeNoted(const detail::Binding& binding, const Key& key, const LockRow& row) {
  if (binding.collection->turns() != nullptr) return false;
  if (!row.has_body) return true;
  const detail::ReadResult read = detail::Read(binding.engine, *binding.collection, key);
  detail::ThrowIf(read.failure);
  const nlohmann::json& tree = detail::TreeOf(read.body);
  return tree.size() == 1 && tree.contains("broken");
}

}  // namespace

PurgeResult LockAdmin::Purge(const PurgeOptions& options) const {
  if (options.forget && options.idle_for <= Duration()) {
    throw std::invalid_argument("PurgeOptions::idle_for must be more than zero with forget");
  }
  if (!options.forget && options.idle_for != Duration()) {
    throw std::invalid_argument("PurgeOptions::idle_for is for forget only");
  }
  if (options.forget && bound().collection->turns() != nullptr) {
    throw StoreException(Errc::kRefused, "doclock: the collection " + bound().collection->name() +
                                             " has the layout of another library: none of its "
                                             "documents is forgotten");
  }
  PurgeResult result;
  result.expired = detail::PurgeAll(bound());
  if (options.forget) result.forgotten = ForgetIdle(bound(), options.idle_for);
  return result;
}

LockStatus LockAdmin::Break(const Key& key, std::string_view by) const {
  const detail::Binding& binding = bound();
  detail::CheckText(by, "by");
  LockQuery query;
  query.key = key;
  query.unheld = true;
  std::vector<LockRow> rows;
  detail::ListLocks(binding.engine, *binding.collection, query,
                    [&](LockRow&& row) { rows.push_back(std::move(row)); });
  const auto fail = [&](Errc code, const char* before, const char* after) {
    detail::MakeFailure(code, *binding.collection, key, before, after)->Throw();
  };
  if (rows.empty()) fail(Errc::kNotFound, "doclock: there is no ", "");
  if (rows.front().malformed) {
    fail(Errc::kMalformed, "doclock: the lock fields of ",
         named::WhyMalformed(rows.front()).c_str());
  }
  // A share whose lease is over has no holder any more.
  std::erase_if(rows, [](const LockRow& row) {
    return row.lock_id.is_nil() || (row.mode == LockMode::kShared && !row.live);
  });
  if (rows.empty()) fail(Errc::kNotOwner, "doclock: not locked: ", "");
  LockStatus lock = named::StatusOf(rows.front(), std::chrono::system_clock::now());
  LockHolder breaker = *binding.engine->owner();
  if (!by.empty()) breaker.name = by;
  Body note;
  if (MayBeNoted(binding, key, rows.front())) note = BrokenNote(breaker, lock);
  bool broken = false;
  for (const LockRow& row : rows) {
    detail::ValueRelease release;
    release.collection = binding.collection.get();
    release.key = key;
    release.lock_id = row.lock_id;
    release.mode = row.mode;
    if (!broken) release.fields = note;
    release.release_id = NewUuid();
    const auto failure = detail::ReleaseByValue(binding.engine, std::move(release));
    if (failure && failure->code == Errc::kNotOwner) continue;
    detail::ThrowIf(failure);
    broken = true;
  }
  if (!broken) fail(Errc::kNotOwner, "doclock: the lock of ", " changed hands");
  return lock;
}

}  // namespace doclock
