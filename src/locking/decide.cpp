#include "locking/decide.h"

#include <utility>

#include "doclock/errors.h"
#include "document/json/merged.h"
#include "document/json/row_filter.h"
#include "document/json/same_json.h"
#include "rules/fault.h"
#include "rules/rules.h"

namespace doclock::locking {
namespace {

/// The top-level members that are not as they were in `base`.
Body Changed(const Body& body, const Body& base) {
  nlohmann::json changed = nlohmann::json::object();
  for (const auto& [name, value] : body.json().items()) {
    const auto before = base.json().find(name);
    if (before == base.json().end() || !detail::IsSameJson(*before, value)) changed[name] = value;
  }
  return Body::FromJson(std::move(changed));
}

/// Refuses an operation whose body holds text that is not valid UTF-8, and that `base` does not
/// hold. Returns whether it did. @throws DocumentException if the database cannot hold the body
bool RefuseBadText(StoreOp& op, const Body& body, const Body& base, const Unit& unit) {
  unit.CheckBody(body);
  if (body.IsUtf8() || (base && Changed(body, base).IsUtf8())) return false;
  op.Fail(Errc::kDocument, "the body holds a string that is not valid UTF-8");
  return true;
}

/// The body to store in place of that of `was`; none: that one stays. What a grant gave out and a
/// release gives back was checked when it came.
Body NewBody(const Body& body, const Entry* was, bool merge = false) {
  if (!body || (was != nullptr && body.IsSameAs(was->body))) return {};
  return merge ? Merged(was->body, body) : body;
}

/// Gives an edited entry its new body, if there is one. @param base see Decision
void Put(Body&& body, const Body* base, Entry& entry, Document& document) noexcept {
  if (!body) return;
  entry.body = std::move(body);
  document.decision.base = base;
}

/// A plain release without waiters does not read the time.
TimePoint TimeFor(const WriteOp& op, const rules::LockState& lock, Unit& unit) {
  const bool needed =
      op.request.mode == LockMode::kShared || op.request.write == WriteKind::kCheckpoint ||
      op.request.write == WriteKind::kLeave || op.request.next != nullptr || !lock.queue.empty();
  return needed ? unit.Now() : TimePoint{};
}

void Tell(Document& document, bool concerns_waiters, const Entry& entry) noexcept {
  document.decision.notice = concerns_waiters ? Notice::kWaiters : Notice::kNobody;
  document.decision.grant.reset();
  const rules::LockState& lock = entry.lock;
  if (!concerns_waiters || !lock.passed_on.done) return;
  document.decision.grant = {lock.lock_id, lock.version, lock.born, entry.body};
}

void Create(AcquireOp& op, Document& document, Unit& unit) {
  if (RefuseBadText(op, op.request.insert, {}, unit)) return;
  Entry& entry = document.Edit();
  entry.body = op.result.body = op.request.insert;
  entry.lock.floor = unit.floor();
  rules::AcquireNew(op, entry.lock, unit.Now(), unit.instance());
}

void Decide(AcquireOp& op, Document& document, Unit& unit) {
  if (document.loaded.entry != nullptr) {
    DecideAcquire(op, document, unit);
  } else if (op.request.insert) {
    Create(op, document, unit);
  } else {
    op.status = OpStatus::kMissing;
  }
}

/// @param document is there, as it was loaded or as the operation before left it.
void Decide(RenewOp& op, Document& document, Unit& unit) {
  const TimePoint now = unit.Now();
  const rules::LockState& lock =
      document.decision.entry ? document.decision.entry->lock : document.loaded.entry->lock;
  if (!rules::MayRenew(op, lock, now)) {
    op.status = OpStatus::kLost;
    return;
  }
  rules::Renew(op, document.Edit().lock, now, unit.instance());
}

void Decide(WriteOp& op, Document& document, Unit& unit) {
  const Entry& was = *document.loaded.entry;
  const TimePoint now = TimeFor(op, was.lock, unit);
  if (Settle(op, rules::WhyNotWrite(op, was.lock, now))) return;
  Body body = NewBody(op.request.body, &was, op.request.merge);
  if (body && RefuseBadText(op, body, op.request.merge ? was.body : op.request.base, unit)) return;
  Entry& entry = document.Edit();
  rules::Write(op, entry.lock, now, unit.instance());
  Put(std::move(body), op.request.base && !op.request.merge ? &op.request.base : nullptr, entry,
      document);
  Tell(document, rules::ConcernsWaiters(op, entry.lock), entry);
  document.decision.erased = op.request.write == WriteKind::kErase;
}

void Decide(SaveOp& op, Document& document, Unit& unit) {
  const TimePoint now = unit.Now();
  const Entry* const was = document.loaded.entry;
  if (Settle(op, rules::WhyNotSave(op, was == nullptr ? nullptr : &was->lock, now))) return;
  if (!op.request.Writes()) {
    op.result.version = op.request.expected;
    op.status = OpStatus::kDone;
    return;  // undecided, it stays as it is
  }
  const bool erases = op.request.save == SaveKind::kErase;
  Body body = erases ? Body() : NewBody(op.request.body, was);
  if (body && RefuseBadText(op, body, op.request.base, unit)) return;
  Entry& entry = document.Edit();
  if (was == nullptr) {
    entry.lock.born = NewUuid();
    entry.lock.floor = unit.floor();
  }
  const bool frees = rules::Save(op, entry.lock, now);
  Put(std::move(body), op.request.base ? &op.request.base : nullptr, entry, document);
  Tell(document, frees || !erases, entry);
  document.decision.erased = erases;
}

void Decide(ReadOp& op, Document& document, Unit& unit) {
  op.result.body = document.loaded.entry->body;
  rules::Read(op, document.loaded.entry->lock, unit.Now());
}

/// May the operation meet a document that is not there?
bool MayBeMissing(const StoreOp& op) noexcept {
  return op.kind == OpKind::kAcquire || op.kind == OpKind::kSave;
}

}  // namespace

void DecideAcquire(AcquireOp& op, Document& document, Unit& unit) {
  Entry& entry = document.Edit();
  if (entry.lock.born.is_nil()) entry.lock.born = NewUuid();
  rules::Acquire(op, entry.lock, unit.Now(), unit.instance());
  Tell(document, entry.lock.passed_on.done, entry);
  if (op.status == OpStatus::kDone) op.result.body = entry.body;
  // A refused attempt that left nothing writes nothing.
  const bool changed = op.status == OpStatus::kDone ? !op.result.passed_on
                                                    : entry.lock != document.loaded.entry->lock;
  if (!changed) document.decision.entry.reset();
}

void Decide(StoreOp& op, Document& document, Unit& unit) {
  if (document.loaded.malformed) {
    op.Fail(Errc::kMalformed, MalformedText(document.loaded.bad_part));
  } else if (document.loaded.entry == nullptr && !MayBeMissing(op)) {
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
