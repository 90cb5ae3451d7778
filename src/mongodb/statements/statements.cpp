#include "mongodb/statements/statements.h"

#include <array>
#include <string_view>
#include <utility>

#include "mongodb/bson/body_codec.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/lock_filters.h"
#include "mongodb/statements/queue.h"
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

Verb VerbOf(const StoreOp& op) {
  if (op.kind == OpKind::kWrite) {
    const bool erases = static_cast<const WriteOp&>(op).request.write == WriteKind::kErase;
    return erases ? Verb::kDelete : Verb::kUpdate;
  }
  if (op.kind != OpKind::kSave) return Verb::kUpdate;
  switch (static_cast<const SaveOp&>(op).request.save) {
    case SaveKind::kInsert:
      return Verb::kInsert;
    case SaveKind::kErase:
      return Verb::kDelete;
    case SaveKind::kReplace:
    case SaveKind::kExpect:
      break;
  }
  return Verb::kUpdate;
}

Doc DeleteStatement(const Doc& filter) {
  Doc statement;
  statement.Add("q", filter).Add("limit", 1);
  return statement;
}

Doc UpdateStatement(const Doc& filter, const Update& update, bool upsert) {
  Doc statement = Doc::Of("q", filter);
  update.AddTo(statement, "u");
  if (upsert) statement.Add("upsert", true);
  return statement;
}

Doc PipelineStatement(const Doc& filter, const Array& stages) {
  Doc statement = Doc::Of("q", filter);
  statement.Add("u", stages);
  return statement;
}

Doc StatementOf(const WriteOp& op, ReleaseTo to, const StoredLock* seen) {
  const Doc filter = HeldFilter(op, to, seen);
  return op.request.write == WriteKind::kErase ? DeleteStatement(filter)
                                               : UpdateStatement(filter, HeldUpdate(op, to));
}

Doc StatementOf(const AcquireOp& op, const StoredLock* seen, const Uuid& born) {
  if (seen == nullptr) {
    return UpdateStatement(AcquireFilter(op), AcquireUpdate(op, born), !born.is_nil());
  }
  rules::LockState now = *seen;
  rules::Grant(now, op.request.grant, kLookedAt);
  return StatementOf({.collection = *op.collection, .key = *op.key, .was = *seen, .now = now});
}

Doc StatementOf(SaveOp& op, const StoredLock* seen, const Uuid& born) {
  if (op.request.save == SaveKind::kInsert) {
    return NewDocument(*op.collection, *op.key, op.request.body, born, op.request.write_id);
  }
  if (!op.request.Writes()) {
    Update touch(*op.collection);
    touch.Touch(op.request.write_id);
    return UpdateStatement(ExpectFilter(op), touch);
  }
  const bool erases = op.request.save == SaveKind::kErase;
  if (seen == nullptr) {
    const Doc filter = SaveFilter(op);
    return erases ? DeleteStatement(filter) : UpdateStatement(filter, SaveUpdate(op));
  }
  rules::LockState now = *seen;
  rules::Save(op, now, kLookedAt);
  return StatementOf({.collection = *op.collection,
                      .key = *op.key,
                      .was = *seen,
                      .now = now,
                      .body = op.request.body,
                      .base = op.request.base,
                      .erases = erases});
}

Doc Told(const Doc& statement, const Collection& collection) {
  // No document has a field below this one, which no filter compares: so all match null, and the
  // one that would be made shows a null.
  const std::string is_new = collection.fields().expected + ".new";
  bson_iter_t update, upsert;
  bson_t part;
  Doc told, changed;
  if (FindField(*statement.get(), "upsert", upsert)) {
    bson_concat(told.get(), statement.get());
  } else if (FindDocument(*statement.get(), "u", part)) {
    bson_copy_to_excluding_noinit(statement.get(), told.get(), "u", nullptr);
    bson_concat(changed.get(), &part);
    changed.Add("$setOnInsert", Doc::Of("_id", false));  // no key is a boolean
    told.Add("u", changed).Add("upsert", true);
  } else if (FindField(*statement.get(), "u", update)) {
    FindDocument(*statement.get(), "q", part);
    bson_concat(changed.get(), &part);
    told.Add("q", changed.AddNull(is_new)).Add("upsert", true);
    Array stages;
    stages.Add(SetStage(Doc::Of("_id", Conditional(TypeIn(is_new, {"null"}), false, "$_id"))));
    ForEachItem(*statement.get(), "u", [&](const bson_iter_t& stage) {
      bson_iter_t shown = stage;  // bson_iter_value writes to it
      stages.Add(*bson_iter_value(&shown));
      return true;
    });
    told.Add("u", stages);
  }
  return told;
}

Doc CommandOf(Verb verb, const Collection& collection, const Array& statements, bool ordered) {
  constexpr std::array kNames = {std::pair{"update", "updates"}, std::pair{"delete", "deletes"},
                                 std::pair{"insert", "documents"}};
  const auto [name, list] = kNames[static_cast<std::size_t>(verb)];
  Doc command;
  command.Add(name, std::string_view(collection.name()));
  command.Add(list, statements).Add("ordered", ordered);
  return command;
}

}  // namespace doclock::mongodb
