#include "postgresql/operations/short_cuts.h"

#include <algorithm>
#include <string>

#include "doclock/errors.h"
#include "doclock/store/operations.h"
#include "postgresql/tables/rows.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
namespace {

PostgresqlCollection& CollectionOf(const StoreOp& op) {
  return static_cast<PostgresqlCollection&>(*op.collection);
}

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

}  // namespace

const RowUpdate PostgresqlCollection::*UpdateOf(rules::Plain kind) noexcept {
  using rules::Plain;
  switch (kind) {
    case Plain::kTakeFree:
      return &PostgresqlCollection::take_free;
    case Plain::kRenew:
      return &PostgresqlCollection::renew;
    case Plain::kRelease:
    case Plain::kWriteAndRelease:
      return &PostgresqlCollection::release;
    case Plain::kCheckpoint:
      return &PostgresqlCollection::checkpoint;
    case Plain::kHandOver:
      return &PostgresqlCollection::hand_over;
    default:
      return nullptr;
  }
}

std::optional<ShortCut> ShortCutOf(const rules::PlainOp& plain) {
  const auto update = UpdateOf(plain.kind);
  ShortCut cut{.op = plain.op,
               .update = &(CollectionOf(*plain.op).*update),
               .parameters = {},
               .frees = update == &PostgresqlCollection::release};
  AddKey(cut.parameters, *plain.op->key);
  try {
    Visit(*plain.op, [&](const auto& one) { Add(cut.parameters, one); });
  } catch (const DocumentException&) {
    return std::nullopt;
  }
  return cut;
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
