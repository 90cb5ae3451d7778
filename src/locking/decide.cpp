#include "locking/decide.h"

#include <utility>

#include "doclock/errors.h"
#include "document/json/good_text.h"
#include "document/json/merged.h"
#include "document/json/row_filter.h"
#include "rules/acquire.h"
#include "rules/fault.h"
#include "rules/holder.h"
#include "rules/looking.h"
#include "rules/save.h"

namespace doclock::locking {
namespace {

/// Are they one and the same body, not only equal?
bool IsSame(const Body& a, const Body& b) { return a && b && &TreeOf(a) == &TreeOf(b); }

/// Can the body be stored in place of the one of `was`? False: that is the operation's result.
bool MayStore(StoreOp& op, const Entry* was, const Body& body) {
  // What a grant gave out and a release gives back was checked when it came.
  return (was != nullptr && IsSame(body, was->body)) || HasGoodText(op, body);
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
  if (!MayStore(op, nullptr, op.insert)) return;
  Entry& entry = document.Edit();
  entry.body = op.body = op.insert;
  rules::AcquireNew(op, entry.lock, unit.Now(), unit.instance());
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
  const Entry& was = *document.was;
  const TimePoint now = TimeFor(op, was.lock, unit);
  if (!rules::MayWrite(op, was.lock, now)) return;
  Body body = !op.body ? was.body : op.merge ? Merged(was.body, op.body) : op.body;
  if (op.body && !MayStore(op, &was, body)) return;
  Entry& entry = document.Edit();
  entry.body = std::move(body);
  rules::Write(op, entry.lock, now, unit.instance());
  Tell(document, rules::ConcernsWaiters(op, entry.lock));
  document.erased = op.write == WriteKind::kErase;
}

void Decide(SaveOp& op, Change& document, Unit& unit) {
  const TimePoint now = unit.Now();
  const Entry* const was = document.was;
  if (!rules::MaySave(op, was == nullptr ? nullptr : &was->lock, now)) return;
  const bool erases = op.save == SaveKind::kErase;
  const bool has_body = !erases && op.body;
  if (has_body && !MayStore(op, was, op.body)) return;
  Entry& entry = document.Edit();
  if (was == nullptr) entry.lock.born = NewUuid();
  if (has_body) entry.body = op.body;
  Tell(document, rules::Save(op, entry.lock, now));
  document.erased = erases;
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
  Entry& entry = document.Edit();
  if (entry.lock.born.is_nil()) entry.lock.born = NewUuid();
  rules::Acquire(op, entry.lock, unit.Now(), unit.instance());
  Tell(document, entry.lock.passed_on.done);
  if (op.status == OpStatus::kDone) op.body = entry.body;
  // A refused attempt that left nothing writes nothing.
  const bool changed =
      op.status == OpStatus::kDone ? !op.passed_on : entry.lock != document.was->lock;
  if (!changed && !document.restated) document.now.reset();
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
