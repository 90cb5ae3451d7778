#include "memory/interventions.h"

#include <string>
#include <utility>

#include "doclock/errors.h"
#include "memory/place.h"
#include "memory/shares.h"

namespace doclock::memory {
namespace {

constexpr std::chrono::seconds kStolenTtl{30};

std::string NameOf(const Collection& collection, const Key& key) {
  return collection.name() + "/" + key.ToString();
}

/// Somebody whom nobody knows.
OwnerPtr Stranger() {
  static const OwnerPtr kStranger = [] {
    LockHolder holder;
    holder.name = "stranger";
    return std::make_shared<const LockHolder>(std::move(holder));
  }();
  return kStranger;
}

void Expire(Document& document, TimePoint now) {
  if (!HasLiveLock(document, now)) return;
  if (IsShared(document)) return ExpireShares(document, now);
  document.lock_time = now - document.ttl;
}

void Break(Document& document) {
  // A mark of its own: the holder's would tell it that its release was done.
  Clear(document, NewUuid());
  ++document.version;
}

void Steal(Document& document, TimePoint now) {
  GrantRequest grant;
  grant.lock_id = NewUuid();
  grant.ttl = kStolenTtl;
  grant.owner = Stranger();
  ++document.version;
  Grant(document, grant, now);
}

void Act(Document& document, Intervention what, TimePoint now) {
  switch (what) {
    case Intervention::kExpire:
      return Expire(document, now);
    case Intervention::kBreak:
      return Break(document);
    case Intervention::kSteal:
      return Steal(document, now);
  }
}

}  // namespace

void Intervene(MemoryCollection& collection, const Key& key, Intervention what, TimePoint now) {
  const std::size_t hash = key.Hash();
  {
    const Place place(collection, key, hash);
    Document* document = place.document();
    if (document == nullptr) {
      throw NotFoundException("doclock: there is no document " + NameOf(collection, key));
    }
    if (what != Intervention::kSteal && !HasLockId(*document)) {
      throw LockException(Errc::kNotOwner,
                          "doclock: nobody holds the lock of " + NameOf(collection, key));
    }
    Act(*document, what, now);
  }
  if (what != Intervention::kSteal) collection.watchers().Tell(hash);
}

std::int64_t Purge(MemoryCollection& collection, std::int64_t limit, TimePoint now) {
  std::int64_t purged = 0;
  for (Shard& shard : collection.shards()) {
    const std::lock_guard guard(shard.mutex);
    shard.documents.ForEach([&](Document& document) {
      if (purged >= limit || !HasLockId(document) || HasLiveLock(document, now)) return;
      if (document.sharing) document.sharing->shares.clear();
      document.lock_id = Uuid{};
      document.owner = nullptr;
      ++purged;
    });
  }
  return purged;
}

}  // namespace doclock::memory
