#include "mongodb/protocol/write_command.h"

#include <array>
#include <string_view>
#include <utility>

#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/lock_change.h"
#include "rules/rules.h"

namespace doclock::mongodb {
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
