#include "mongodb/protocol/statements.h"

#include "mongodb/bson/body_codec.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/queue.h"
#include "rules/rules.h"

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
  update.Grant(op.request.grant);
  update.RaiseVersion();
  if (!born.is_nil()) update.OnInsert(op.request.insert, born);
  return update;
}

bool MeetsQueue(const AcquireOp& op, const StoredLock& seen) {
  if (seen.malformed()) return false;
  return op.request.grant.queue_for.count() > 0 || (seen.has_queue && seen.IsFree(kLookedAt));
}

bool CanUpsert(const AcquireOp& op) {
  return op.request.insert && op.request.grant.min_hold.count() == 0;
}

bool IsPlainRelease(const WriteOp& op) noexcept {
  return op.request.write == WriteKind::kRelease && op.request.next == nullptr;
}

ReleaseTo ReleaseToOf(const WriteOp& op, bool met) noexcept {
  return IsPlainRelease(op) && (met || op.queue_likely) ? ReleaseTo::kFirst : ReleaseTo::kNobody;
}

Doc HeldFilter(const WriteOp& op, ReleaseTo to, const StoredLock* seen) {
  const LockFieldNames& names = op.collection->fields();
  Doc filter;
  filter.Add("_id", Equals(*op.key)).Add(names.id, NoArray(Equals(op.request.lock_id)));
  AddGoodVersion(filter, *op.collection);  // 3.0 equals 3
  if (op.request.expected != kAnyVersion) {
    AddVersion(filter, names.version, op.request.expected);
  } else if (seen != nullptr) {
    AddVersion(filter, names.version, seen->version);
  }
  if (to == ReleaseTo::kNobody && IsPlainRelease(op)) AddNoQueue(filter, *op.collection);
  return filter;
}

Update HeldUpdate(const WriteOp& op, ReleaseTo to) {
  Update update(*op.collection);
  update.RaiseVersion();
  if (op.request.write == WriteKind::kCheckpoint) {
    update.RestartLease(op.request.ttl);
    update.KeepFence(op.request.lock_id, op.request.fence);
  } else if (op.request.next != nullptr) {
    update.HandOver(op.request.ReleaseId(), *op.request.next);
  } else if (to == ReleaseTo::kFirst) {
    update.ReleaseToFirst(op.request.ReleaseId());
  } else {
    update.Release(op.request.ReleaseId());
  }
  if (op.request.body && op.request.merge) {
    update.MergeBody(op.request.body);
  } else if (op.request.body) {
    update.ReplaceBody(op.request.body, op.request.base);
  }
  return update;
}

Doc ExpectFilter(const SaveOp& op) {
  const LockFieldNames& names = op.collection->fields();
  Doc filter = Doc::Of("_id", Equals(*op.key));
  AddSound(filter, *op.collection, {LockPart::kFields});
  AddVersion(filter, names.version, op.request.expected);
  AddBorn(filter, names.born, op.request.born);
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
  if (op.request.expected != kAnyVersion) {
    AddVersion(filter, collection.fields().version, op.request.expected);
    AddBorn(filter, collection.fields().born, op.request.born);
  }
  return filter;
}

Update SaveUpdate(const SaveOp& op) {
  Update update(*op.collection);
  update.Release(op.request.write_id);
  update.RaiseVersion();
  if (op.request.body) update.ReplaceBody(op.request.body, op.request.base);
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
    if (op.request.insert) return false;
    op.status = OpStatus::kMissing;
  } else if (seen->malformed()) {
    Malformed(op, *seen);
  } else if (!Settle(op, rules::WhyNotAcquire(op, *seen, kLookedAt))) {
    return false;
  } else {
    op.result.ahead = rules::CountAhead(*seen, op.request.grant.lock_id, kLookedAt);
  }
  return true;
}

}  // namespace doclock::mongodb
