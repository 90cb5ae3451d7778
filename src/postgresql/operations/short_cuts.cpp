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

void Add(Parameters& parameters, const AcquireOp& op) { AddGrant(parameters, op.request.grant); }
void Add(Parameters& parameters, const RenewOp& op) {
  parameters.Id(op.request.lock_id).Int8(op.request.ttl.count());
}
void Add(Parameters& parameters, const WriteOp& op) {
  parameters.Id(op.request.lock_id).Int8(op.request.expected);
  op.request.write == WriteKind::kCheckpoint ? parameters.Int8(op.request.ttl.count())
                                             : parameters.Id(op.request.ReleaseId());
  if (op.request.body) CheckForJsonb(op.request.body);
  op.request.body ? parameters.Jsonb(JsonbOf(op.request.body)) : parameters.Null();
  if (op.request.next != nullptr) AddGrant(parameters, *op.request.next);
}
void Add(Parameters&, const StoreOp&) {}

std::int64_t VersionAt(const Result& result, int row) {
  return result.NumberWithin(row, 1, 1, rules::kHighestVersion);
}

void Show(AcquireOp& op, const Result& result, int row) {
  op.result.version = VersionAt(result, row);
  op.result.born = result.Id(row, 2);
  op.result.body = Body::FromText(std::string(result.Text(row, 3)));
}
void Show(WriteOp& op, const Result& result, int row) {
  op.result.version = VersionAt(result, row);
}
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
    if (write.request.expected != kAnyVersion)
      write.result.version = std::max(write.request.expected + 1, floor);
  }
  cut.op->Doubt(text);
}

void Settle(const ShortCut& cut, const Result& result, int row) {
  Visit(*cut.op, [&](auto& one) { Show(one, result, row); });
  cut.op->status = OpStatus::kDone;
}

}  // namespace doclock::postgresql
