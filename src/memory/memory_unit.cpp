#include "memory/memory_unit.h"

#include <set>
#include <utility>

#include "document/json/row_filter.h"
#include "locking/decide.h"
#include "memory/store_all.h"

namespace doclock::memory {
namespace {

using locking::Candidate;
using locking::Change;

Shard& ShardOf(const Change& change) noexcept { return CollectionOf(change).ShardOf(change.hash); }

/// What the change discards stays in it, to be destroyed when the shard is free: a large body takes
/// a while.
void Store(Change& change) {
  MemoryCollection& collection = CollectionOf(change);
  std::optional<std::string> refusal;
  if (change.erased) {
    change.now = std::move(*collection.Take(DocumentOf(change)));
  } else if (change.was != nullptr) {
    refusal = collection.Replace(DocumentOf(change), *change.now);
  } else {
    refusal = collection.Insert(*change.key, change.hash, std::move(*change.now));
  }
  if (refusal) return change.RefuseBy(*std::move(refusal));
  change.outcome = OpStatus::kDone;
}

}  // namespace

void MemoryUnit::Lock(Shard& shard) {
  shard.mutex.lock();
  shard.locked_before = std::exchange(locked_, &shard);
}

void MemoryUnit::Unlock() noexcept {
  while (locked_ != nullptr) std::exchange(locked_, locked_->locked_before)->mutex.unlock();
}

/// In the order of their addresses, so that units cannot wait for each other in a circle.
void MemoryUnit::LockAll(std::span<const Change> documents) {
  std::set<Shard*> shards;
  for (const Change& document : documents) shards.insert(&ShardOf(document));
  for (Shard* const shard : shards) Lock(*shard);
}

/// Renewals, which come by the hundred, and reads.
bool MemoryUnit::Try(StoreOp& op) {
  if (op.kind != OpKind::kRenew && op.kind != OpKind::kRead) return false;
  Unlock();
  const TimePoint now = Now();
  Shard& shard = static_cast<MemoryCollection&>(*op.collection).ShardOf(op.hash);
  const std::lock_guard guard(shard.mutex);
  locking::DecideInPlace(op, shard.Find(*op.key, op.hash), now);
  return true;
}

void MemoryUnit::Load(std::span<Change> documents) {
  Unlock();
  documents.size() == 1 ? Lock(ShardOf(documents.front())) : LockAll(documents);
  for (Change& document : documents) {
    Document* const found = ShardOf(document).Find(*document.key, document.hash);
    document.was = found;
    if (document.alone) document.stored = found;
    document.indexed = CollectionOf(document).indexed();
  }
}

void MemoryUnit::Commit(std::span<Change> changes) {
  if (all_) {
    StoreAll(changes);
  } else {
    for (Change& change : changes) {
      if (change.edited && !change.erased) {
        change.outcome = OpStatus::kDone;
      } else if (change.IsDecided()) {
        Store(change);
      }
    }
  }
  Unlock();
  for (const Change& change : changes) {
    const bool told =
        change.notice == locking::Notice::kWaiters && change.outcome == OpStatus::kDone;
    if (told) CollectionOf(change).watchers().Tell(change.Hint());
  }
}

std::string MemoryUnit::ScanLocks(Collection& collection, const LockQuery& query,
                                  const std::string& after,
                                  const std::function<bool(Candidate&&)>& visit) {
  Unlock();
  auto& ours = static_cast<MemoryCollection&>(collection);
  const auto show = [&](const Document& document) {
    const bool asked_for = query.unheld || document.lock.HasLockId();
    return !asked_for || visit({document.key, document.lock, !TreeOf(document.body).empty()});
  };
  if (query.key) {
    const std::size_t hash = query.key->Hash();
    Shard& shard = ours.ShardOf(hash);
    const std::lock_guard guard(shard.mutex);
    if (const Document* const document = shard.Find(*query.key, hash)) show(*document);
    return {};
  }
  // A page is a shard, and its number the position.
  const std::size_t number = after.empty() ? 0 : std::stoul(after);
  Shard& shard = ours.shards().at(number);
  const std::lock_guard guard(shard.mutex);
  for (const auto& [key, document] : shard.documents) {
    if (!show(*document)) break;
  }
  return number + 1 < MemoryCollection::kShards ? std::to_string(number + 1) : std::string();
}

}  // namespace doclock::memory
