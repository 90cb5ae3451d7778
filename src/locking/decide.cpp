#include "locking/decide.h"

#include <utility>

#include "doclock/errors.h"
#include "document/json/merged.h"
#include "document/json/row_filter.h"
#include "document/values/good_text.h"
#include "rules/acquire.h"
#include "rules/fault.h"
#include "rules/holder.h"
#include "rules/looking.h"
#include "rules/save.h"

namespace doclock::locking {
namespace {

/// Are they one and the same body, not only equal?
bool IsSame(const Body& a, const Body& b) { return a && b && &TreeOf(a) == &TreeOf(b); }

/// Puts a body into the entry. False: it cannot be stored, which is the operation's result.
bool PutBody(StoreOp& op, Entry& entry, const Body& body) {
  // What a grant gave out and a release gives back was checked when it came.
  if (!IsSame(body, entry.body) && !HasGoodText(op, body)) return false;
  entry.body = body;
  return true;
}

/// A plain release that nobody waits for does not read the time.
TimePoint TimeFor(const WriteOp& op, const rules::LockState& lock, Unit& unit) {
  const bool needed = op.mode == LockMode::kShared || op.write == WriteKind::kCheckpoint ||
                      op.write == WriteKind::kLeave || op.next != nullptr || !lock.queue.empty();
  return needed ? unit.Now() : TimePoint{};
}

void Tell(Change& document, bool concerns_waiters) noexcept {
  document.notice = concerns_waiters ? Notice::kWaiters : Notice::kNobody;
}

void Create(AcquireOp& op, Change& document, Unit& unit) {
  Entry entry;
  if (!PutBody(op, entry, op.insert)) return;
  op.body = op.insert;
  rules::AcquireNew(op, entry.lock, unit.Now(), unit.instance());
  document.now = std::move(entry);
}

void Decide(AcquireOp& op, Change& document, Unit& unit) {
  if (document.was != nullptr) {
    DecideAcquire(op, document, unit);
  } else if (op.insert) {
    Create(op, document, unit);
  } else {
    op.status = OpStatus::kMissing;
  }
}

/// @param document is there, as it was loaded or as the operation before left it.
void Decide(RenewOp& op, Change& document, Unit& unit) {
  const TimePoint now = unit.Now();
  const rules::LockState& lock = document.now ? document.now->lock : document.was->lock;
  if (!rules::MayRenew(op, lock, now)) {
    op.status = OpStatus::kLost;
    return;
  }
  rules::Renew(op, document.Edit().lock, now, unit.instance());
}

void Decide(WriteOp& op, Change& document, Unit& unit) {
  const TimePoint now = TimeFor(op, document.was->lock, unit);
  if (!rules::MayWrite(op, document.was->lock, now)) return;
  Entry entry = *document.was;
  if (op.body && !PutBody(op, entry, op.merge ? Merged(entry.body, op.body) : op.body)) return;
  rules::Write(op, entry.lock, now, unit.instance());
  Tell(document, rules::ConcernsWaiters(op, entry.lock));
  document.erased = op.write == WriteKind::kErase;
  document.now = std::move(entry);
}

void Decide(SaveOp& op, Change& document, Unit& unit) {
  const TimePoint now = unit.Now();
  const Entry* const was = document.was;
  if (!rules::MaySave(op, was == nullptr ? nullptr : &was->lock, now)) return;
  Entry entry = was == nullptr ? Entry() : *was;
  if (was == nullptr) entry.lock.born = NewUuid();
  document.erased = op.save == SaveKind::kErase;
  if (!document.erased && op.body && !PutBody(op, entry, op.body)) return;
  Tell(document, rules::Save(op, entry.lock, now));
  document.now = std::move(entry);
}

void Decide(ReadOp& op, Change& document, Unit& unit) {
  op.body = document.was->body;
  rules::Read(op, document.was->lock, unit.Now());
}

/// May the operation meet a document that is not there?
bool MayBeMissing(const StoreOp& op) noexcept {
  return op.kind == OpKind::kAcquire || op.kind == OpKind::kSave;
}

}  // namespace

void DecideAcquire(AcquireOp& op, Change& document, Unit& unit) {
  Entry entry = *document.was;
  if (entry.lock.born.is_nil()) entry.lock.born = NewUuid();
  rules::Acquire(op, entry.lock, unit.Now(), unit.instance());
  Tell(document, entry.lock.passed_on.done);
  if (op.status == OpStatus::kDone) op.body = entry.body;
  // A refused attempt that left nothing writes nothing.
  const bool changed =
      op.status == OpStatus::kDone ? !op.passed_on : entry.lock != document.was->lock;
  if (changed || document.restated) document.now = std::move(entry);
}

void Decide(StoreOp& op, Change& document, Unit& unit) {
  if (document.malformed) {
    op.Fail(Errc::kMalformed, MalformedText(document));
  } else if (document.was == nullptr && !MayBeMissing(op)) {
    op.status = OpStatus::kMissing;
  } else {
    try {
      Visit(op, [&](auto& one) { Decide(one, document, unit); });
    } catch (const DocumentException& error) {
      // A body that cannot be dumped, or merged into the stored one. Nothing was decided yet.
      op.Fail(Errc::kDocument, error.what());
    }
  }
}

}  // namespace doclock::locking
