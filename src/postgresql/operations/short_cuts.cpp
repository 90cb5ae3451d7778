#include "postgresql/operations/short_cuts.h"

#include <algorithm>
#include <string>

#include "doclock/errors.h"
#include "doclock/store/operations.h"
#include "postgresql/tables/postgresql_collection.h"
#include "postgresql/tables/rows.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
namespace {

PostgresqlCollection& CollectionOf(const StoreOp& op) {
  return static_cast<PostgresqlCollection&>(*op.collection);
}

/// One that waits in a queue has met a lock that is not free.
const RowUpdate* UpdateOf(const AcquireOp& op) {
  const bool plain = op.grant.mode == LockMode::kExclusive && op.grant.queue_for.count() == 0 &&
                     op.grant.min_hold.count() == 0;
  return plain ? &CollectionOf(op).take_free : nullptr;
}
const RowUpdate* UpdateOf(const RenewOp& op) {
  return op.mode == LockMode::kExclusive ? &CollectionOf(op).renew : nullptr;
}
const RowUpdate* UpdateOf(const WriteOp& op) {
  if (op.mode != LockMode::kExclusive || op.merge) return nullptr;
  const PostgresqlCollection& collection = CollectionOf(op);
  if (op.write == WriteKind::kCheckpoint) return op.body ? &collection.checkpoint : nullptr;
  if (op.write != WriteKind::kRelease) return nullptr;
  if (op.next == nullptr) return &collection.release;
  return op.next->min_hold.count() == 0 ? &collection.hand_over : nullptr;
}
const RowUpdate* UpdateOf(const StoreOp&) { return nullptr; }

void Add(Parameters& parameters, const AcquireOp& op) { AddGrant(parameters, op.grant); }
void Add(Parameters& parameters, const RenewOp& op) {
  parameters.Id(op.lock_id).Int8(op.ttl.count());
}
void Add(Parameters& parameters, const WriteOp& op) {
  parameters.Id(op.lock_id).Int8(op.expected);
  op.write == WriteKind::kCheckpoint ? parameters.Int8(op.ttl.count())
                                     : parameters.Id(op.ReleaseId());
  if (op.body) CheckForJsonb(op.body);
  op.body ? parameters.Jsonb(JsonbOf(op.body)) : parameters.Null();
  if (op.next != nullptr) AddGrant(parameters, *op.next);
}
void Add(Parameters&, const StoreOp&) {}

std::int64_t VersionAt(const Result& result, int row) {
  return result.NumberWithin(row, 1, 1, rules::kHighestVersion);
}

void Show(AcquireOp& op, const Result& result, int row) {
  op.version = VersionAt(result, row);
  op.born = result.Id(row, 2);
  op.body = Body::FromText(std::string(result.Text(row, 3)));
  op.created = op.took_over = op.passed_on = false;
}
void Show(WriteOp& op, const Result& result, int row) { op.version = VersionAt(result, row); }
void Show(StoreOp&, const Result&, int) {}

bool Frees(const WriteOp& op) noexcept {
  return op.write == WriteKind::kRelease && op.next == nullptr;
}
bool Frees(const StoreOp&) noexcept { return false; }

}  // namespace

std::optional<ShortCut> ShortCutOf(StoreOp& op) {
  return Visit(op, [](auto& one) -> std::optional<ShortCut> {
    const RowUpdate* const update = UpdateOf(one);
    if (update == nullptr) return std::nullopt;
    ShortCut cut{&one, update, {}, Frees(one)};
    AddKey(cut.parameters, *one.key);
    try {
      Add(cut.parameters, one);
    } catch (const DocumentException&) {  // the long way tells
      return std::nullopt;
    }
    return cut;
  });
}

void Doubt(const ShortCut& cut, std::int64_t floor, const std::string& text) {
  if (cut.op->kind == OpKind::kWrite) {
    auto& write = static_cast<WriteOp&>(*cut.op);
    if (write.expected != kAnyVersion) write.version = std::max(write.expected + 1, floor);
  }
  cut.op->Doubt(text);
}

void Settle(const ShortCut& cut, const Result& result, int row) {
  Visit(*cut.op, [&](auto& one) { Show(one, result, row); });
  cut.op->status = OpStatus::kDone;
}

}  // namespace doclock::postgresql
