#include "records/step.h"

#include <memory>
#include <utility>

#include "document/json/merged.h"
#include "document/values/good_text.h"
#include "records/lock_json.h"
#include "records/unique_indexes.h"
#include "rules/acquire.h"
#include "rules/holder.h"
#include "rules/looking.h"
#include "rules/save.h"
#include "rules/tidying.h"

namespace doclock::records {
namespace {

void Malformed(StoreOp& op) {
  op.Fail(Errc::kMalformed, "the lock of the record is not what this library writes");
}

void Missing(StoreOp& op) noexcept { op.status = OpStatus::kMissing; }

}  // namespace

Stored Step::Read(Record&& record) const {
  Stored stored;
  std::optional<rules::LockState> lock = FromJson(record.lock, run_, now_);
  stored.malformed = !lock;
  if (lock) stored.lock = *std::move(lock);
  stored.body = std::move(record.body);
  return stored;
}

std::optional<Stored> Step::Load(const Key& key) {
  std::optional<Record> record = transaction_.Load(key);
  if (!record) return std::nullopt;
  return Read(*std::move(record));
}

void Step::Put(const Key& key, const Stored& stored) {
  transaction_.Put(key, {ToJson(stored.lock, run_), stored.body});
  changed_ = true;
}

void Step::Erase(const Key& key) {
  transaction_.Erase(key);
  changed_ = true;
}

bool Step::IsRefused(StoreOp& op, const Body& body) {
  if (!HasGoodText(op, body)) return true;
  std::optional<std::string> index = RefusingIndex(transaction_, *op.key, body);
  if (!index) return false;
  op.status = OpStatus::kConflict;
  op.detail = std::make_unique<OpDetail>();
  op.detail->index = *std::move(index);
  return true;
}

void Step::Execute(StoreOp& op) {
  Visit(op, [this](auto& one) { Execute(one); });
}

void Step::Execute(AcquireOp& op) {
  if (std::optional<Stored> stored = Load(*op.key)) return Acquire(op, *stored);
  op.insert ? Create(op) : Missing(op);
}

void Step::Acquire(AcquireOp& op, Stored& stored) {
  if (stored.malformed) return Malformed(op);
  if (stored.lock.born.is_nil()) stored.lock.born = NewUuid();
  rules::Acquire(op, stored.lock, now_);
  if (op.status == OpStatus::kDone) op.body = stored.body;
  freed_ = stored.lock.passed_on.done;
  // A refused attempt may have left an intent or an entry, or met a lease that begins anew.
  if (op.status != OpStatus::kFailed) Put(*op.key, stored);
}

void Step::Create(AcquireOp& op) {
  if (IsRefused(op, op.insert)) return;
  Stored stored;
  stored.body = op.body = op.insert;
  rules::AcquireNew(op, stored.lock, now_);
  Put(*op.key, stored);
}

void Step::Execute(RenewOp& op) {
  std::optional<Stored> stored = Load(*op.key);
  if (!stored) return Missing(op);
  if (stored->malformed) return Malformed(op);
  rules::Renew(op, stored->lock, now_);
  if (op.status == OpStatus::kDone) Put(*op.key, *stored);
}

void Step::Execute(WriteOp& op) {
  std::optional<Stored> stored = Load(*op.key);
  if (!stored) return Missing(op);
  if (stored->malformed) return Malformed(op);
  if (!rules::MayWrite(op, stored->lock, now_)) return;
  if (op.body) {
    Body body = op.merge ? Merged(stored->body, op.body) : op.body;
    if (IsRefused(op, body)) return;
    stored->body = std::move(body);
  }
  rules::Write(op, stored->lock, now_);
  op.write == WriteKind::kErase ? Erase(*op.key) : Put(*op.key, *stored);
  freed_ = rules::ConcernsWaiters(op, stored->lock);
}

void Step::Execute(SaveOp& op) {
  std::optional<Stored> stored = Load(*op.key);
  if (stored && stored->malformed) return Malformed(op);
  if (!rules::MaySave(op, stored ? &stored->lock : nullptr, now_)) return;
  const bool erases = op.save == SaveKind::kErase;
  if (!erases && op.body && IsRefused(op, op.body)) return;
  if (!stored) {
    stored.emplace();
    stored->lock.born = NewUuid();
  }
  if (op.body) stored->body = op.body;
  freed_ = rules::Save(op, stored->lock, now_);
  erases ? Erase(*op.key) : Put(*op.key, *stored);
}

void Step::Execute(ReadOp& op) {
  std::optional<Stored> stored = Load(*op.key);
  if (!stored) return Missing(op);
  if (stored->malformed) return Malformed(op);
  op.body = std::move(stored->body);
  rules::Read(op, stored->lock, now_);
}

bool Step::Intervene(const Key& key, Stored& stored, Intervention what) {
  if (!rules::Intervene(stored.lock, what, NewUuid(), now_)) return false;
  Put(key, stored);
  freed_ = what != Intervention::kSteal;
  return true;
}

void Step::Purge(const Key& key, Stored& stored) {
  rules::Purge(stored.lock);
  Put(key, stored);
}

}  // namespace doclock::records
