#include "mongodb/protocol/statements.h"

#include "mongodb/bson/body_codec.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/queue.h"
#include "rules/acquire.h"
#include "rules/queue.h"

namespace doclock::mongodb {
namespace {

void AddBorn(Doc& filter, const std::string& name, const Uuid& born) {
  if (born.is_nil()) {
    filter.Add(name, Doc::OfNull("$eq"));
  } else {
    filter.Add(name, Equals(born));
  }
}

void AddVersion(Doc& filter, const std::string& name, std::int64_t version) {
  // A document that this library did not write has none.
  if (version == 0) {
    Array none;
    none.Add(Doc::Of(name, Doc::Of("$exists", false))).Add(Doc::Of(name, Equals(version)));
    filter.Add("$or", none);
  } else {
    filter.Add(name, Equals(version));
  }
}

}  // namespace

Doc AcquireFilter(const AcquireOp& op) {
  const Collection& collection = *op.collection;
  Doc filter;
  filter.Add("_id", Equals(*op.key));
  AddSound(filter, collection, {LockPart::kFields});
  AddFree(filter, collection);
  AddNeverClosed(filter, collection);
  AddNotShared(filter, collection);
  AddNoQueue(filter, collection);
  return filter;
}

Update AcquireUpdate(const AcquireOp& op, const Uuid& born) {
  Update update(*op.collection);
  update.Grant(op.grant);
  update.RaiseVersion();
  if (!born.is_nil()) update.OnInsert(op.insert, born);
  return update;
}

bool MeetsQueue(const AcquireOp& op, const StoredLock& seen) {
  if (seen.malformed()) return false;
  return op.grant.queue_for.count() > 0 || (seen.has_queue && seen.IsFree(kLookedAt));
}

bool CanUpsert(const AcquireOp& op) { return op.insert && op.grant.min_hold.count() == 0; }

bool IsPlainRelease(const WriteOp& op) noexcept {
  return op.write == WriteKind::kRelease && op.next == nullptr;
}

ReleaseTo ReleaseToOf(const WriteOp& op, bool met) noexcept {
  return IsPlainRelease(op) && (met || op.queue_likely) ? ReleaseTo::kFirst : ReleaseTo::kNobody;
}

Doc HeldFilter(const WriteOp& op, ReleaseTo to, const StoredLock* seen) {
  const LockFieldNames& names = op.collection->fields();
  Doc filter;
  filter.Add("_id", Equals(*op.key)).Add(names.id, NoArray(Equals(op.lock_id)));
  AddGoodVersion(filter, *op.collection);  // 3.0 equals 3
  if (op.expected != kAnyVersion) {
    AddVersion(filter, names.version, op.expected);
  } else if (seen != nullptr) {
    AddVersion(filter, names.version, seen->version);
  }
  if (to == ReleaseTo::kNobody && IsPlainRelease(op)) AddNoQueue(filter, *op.collection);
  return filter;
}

Update HeldUpdate(const WriteOp& op, ReleaseTo to) {
  Update update(*op.collection);
  update.RaiseVersion();
  if (op.write == WriteKind::kCheckpoint) {
    update.RestartLease(op.ttl);
    update.KeepFence(op.lock_id, op.fence);
  } else if (op.next != nullptr) {
    update.HandOver(op.ReleaseId(), *op.next);
  } else if (to == ReleaseTo::kFirst) {
    update.ReleaseToFirst(op.ReleaseId());
  } else {
    update.Release(op.ReleaseId());
  }
  if (op.body && op.merge) {
    update.MergeBody(op.body);
  } else if (op.body) {
    update.ReplaceBody(op.body, op.base);
  }
  return update;
}

Doc ExpectFilter(const SaveOp& op) {
  const LockFieldNames& names = op.collection->fields();
  Doc filter = Doc::Of("_id", Equals(*op.key));
  AddSound(filter, *op.collection, {LockPart::kFields});
  AddVersion(filter, names.version, op.expected);
  AddBorn(filter, names.born, op.born);
  return filter;
}

Doc SaveFilter(const SaveOp& op) {
  const Collection& collection = *op.collection;
  Doc filter;
  filter.Add("_id", Equals(*op.key));
  AddSound(filter, collection, {LockPart::kFields});
  AddFree(filter, collection);
  AddNotShared(filter, collection);
  AddNoQueue(filter, collection);
  if (op.expected != kAnyVersion) {
    AddVersion(filter, collection.fields().version, op.expected);
    AddBorn(filter, collection.fields().born, op.born);
  }
  return filter;
}

Update SaveUpdate(const SaveOp& op) {
  Update update(*op.collection);
  update.Release(op.write_id);
  update.RaiseVersion();
  if (op.body) update.ReplaceBody(op.body, op.base);
  return update;
}

Doc NewDocument(const Collection& collection, const Key& key, const Body& body, const Uuid& born,
                const Uuid& mark) {
  const LockFieldNames& names = collection.fields();
  Doc document;
  document.Add("_id", key);
  AppendMembers(document, TreeForBson(body));
  document.AddNull(names.id).Add(names.version, std::int64_t{1}).Add(names.born, born);
  document.Add(names.released, mark);
  return document;
}

bool JudgeAcquire(AcquireOp& op, const StoredLock* seen) {
  if (seen == nullptr) {
    if (op.insert) return false;
    op.status = OpStatus::kMissing;
  } else if (seen->malformed()) {
    Malformed(op, *seen);
  } else if (!Settle(op, rules::WhyNotAcquire(op, *seen, kLookedAt))) {
    return false;
  } else {
    op.queued = false;
    op.ahead = rules::CountAhead(*seen, op.grant.lock_id, kLookedAt);
  }
  return true;
}

}  // namespace doclock::mongodb
