#include "plain/decide.h"

#include "rules/acquire.h"
#include "rules/fault.h"
#include "rules/holder.h"
#include "rules/looking.h"
#include "rules/save.h"

namespace doclock::plain_test {
namespace {

void Put(Record& record, const Body& body, bool merge) {
  if (!body) return;
  if (!merge) record.body = nlohmann::json::object();
  record.body.update(body.json());
}

void Do(AcquireOp& op, std::optional<Record>& record) {
  if (record) {
    rules::Acquire(op, record->lock, kNow);
  } else if (op.request.insert) {
    record.emplace().body = op.request.insert.json();
    rules::AcquireNew(op, record->lock, kNow);
  } else {
    op.status = OpStatus::kMissing;
  }
  if (op.status == OpStatus::kDone) op.result.body = Body::FromJson(record->body);
}

void Do(RenewOp& op, std::optional<Record>& record) {
  record ? rules::Renew(op, record->lock, kNow) : void(op.status = OpStatus::kMissing);
}

void Do(WriteOp& op, std::optional<Record>& record) {
  if (!record) {
    op.status = OpStatus::kMissing;
  } else if (!Settle(op, rules::WhyNotWrite(op, record->lock, kNow))) {
    Put(*record, op.request.body, op.request.merge);
    rules::Write(op, record->lock, kNow);
    if (op.request.write == WriteKind::kErase) record.reset();
  }
}

void Do(SaveOp& op, std::optional<Record>& record) {
  if (Settle(op, rules::WhyNotSave(op, record ? &record->lock : nullptr, kNow))) return;
  if (!record) record.emplace().lock.born = NewUuid();
  Put(*record, op.request.body, false);
  rules::Save(op, record->lock, kNow);
  if (op.request.save == SaveKind::kErase) record.reset();
}

void Do(ReadOp& op, std::optional<Record>& record) {
  if (!record) {
    op.status = OpStatus::kMissing;
    return;
  }
  rules::Read(op, record->lock, kNow);
  op.result.body = Body::FromJson(record->body);
}

std::string Text(const char* name, const Uuid& id) { return std::string(name) + TextOf(id); }
std::string Text(const char* name, std::int64_t number) { return name + std::to_string(number); }
std::string Text(const char* name, const Body& body) {
  return name + (body ? body.json().dump() : "none");
}

std::string GrantText(const GrantRequest& grant) {
  std::string text = grant.mode == LockMode::kShared ? Text(" share of ", grant.max_holders) : "";
  text += Text(" for ", grant.lock_id) + TextOf(grant.ttl);
  text += ", min_hold" + TextOf(grant.min_hold) + ", in the queue for" + TextOf(grant.queue_for);
  text += Text(", entry ", grant.entry);
  return text + ", group " + grant.group;
}

std::string Request(const AcquireOp& op) {
  return "acquire" + GrantText(op.request.grant) + Text(", insert ", op.request.insert);
}
std::string Request(const RenewOp& op) {
  const char* const shared = op.request.mode == LockMode::kShared ? "renew share " : "renew ";
  return Text(shared, op.request.lock_id) + TextOf(op.request.ttl);
}
std::string Request(const WriteOp& op) {
  std::string text = op.request.mode == LockMode::kShared ? "share's write " : "write ";
  text += Text("kind ", static_cast<int>(op.request.write)) + Text(" by ", op.request.lock_id);
  text += Text(" at ", op.request.expected) + Text(", body ", op.request.body) +
          (op.request.merge ? " merged" : "");
  text += Text(", base ", op.request.base) + Text(", mark ", op.request.release_id);
  return op.request.next == nullptr ? text : text + ", next" + GrantText(*op.request.next);
}
std::string Request(const SaveOp& op) {
  return Text("save kind ", static_cast<int>(op.request.save)) + Text(" at ", op.request.expected) +
         Text(" of ", op.request.born) + Text(", body ", op.request.body) +
         Text(", base ", op.request.base);
}
std::string Request(const ReadOp&) { return "read"; }

std::string Result(const AcquireOp& op) {
  return Text(" version ", op.result.version) + Text(" born ", op.result.born) +
         Text(" body ", op.result.body) + (op.result.created ? " created" : "") +
         (op.result.took_over ? " taken over" : "") + (op.result.passed_on ? " passed on" : "");
}
std::string Result(const RenewOp&) { return ""; }
std::string Result(const WriteOp& op) { return Text(" version ", op.result.version); }
std::string Result(const SaveOp& op) {
  // A document that is gone has no version; a store may know the one it had.
  if (op.request.save == SaveKind::kErase && op.request.expected == kAnyVersion) return "";
  return Text(" version ", op.result.version) + Text(" born ", op.result.born);
}
std::string Result(const ReadOp& op) {
  return Text(" body ", op.result.body) + Text(" version ", op.result.version) +
         Text(" born ", op.result.born) + Text(" lock ", op.result.lock_id) +
         Text(" released ", op.result.released) +
         (op.result.locked ? " locked" + TextOf(op.result.remaining) : "") + " by " +
         op.result.holder.name;
}

std::string Result(const OpDetail& detail, OpStatus status) {
  std::string text = " holder " + detail.holder.name + " index " + detail.index;
  if (status == OpStatus::kFailed) text += Text(" code ", static_cast<int>(detail.code));
  if (status == OpStatus::kBusy || status == OpStatus::kInDoubt) text += " says " + detail.message;
  if (detail.remaining) text += " for" + TextOf(*detail.remaining);
  if (detail.found_version) text += Text(" found ", *detail.found_version);
  return text;
}

template <class Visit>
auto With(const StoreOp& op, const Visit& visit) {
  switch (op.kind) {
    case OpKind::kAcquire:
      return visit(static_cast<const AcquireOp&>(op));
    case OpKind::kRenew:
      return visit(static_cast<const RenewOp&>(op));
    case OpKind::kWrite:
      return visit(static_cast<const WriteOp&>(op));
    case OpKind::kSave:
      return visit(static_cast<const SaveOp&>(op));
    case OpKind::kRead:
      break;
  }
  return visit(static_cast<const ReadOp&>(op));
}

}  // namespace

void Decide(StoreOp& op, std::optional<Record>& record) {
  if (const char* const fault = FaultOf(op)) return op.Fail(Errc::kRefused, fault);
  With(op, [&]<class Op>(const Op& one) { Do(const_cast<Op&>(one), record); });
}

std::string RequestOf(const StoreOp& op) {
  return With(op, [](const auto& one) { return Request(one); });
}

std::string ResultOf(const StoreOp& op) {
  std::string text = Text("status ", static_cast<int>(op.status));
  if (op.detail) text += Result(*op.detail, op.status);
  if (op.status == OpStatus::kBusy && op.kind == OpKind::kAcquire) {
    const auto& acquire = static_cast<const AcquireOp&>(op);
    text += Text(acquire.result.queued ? " queued after " : " behind ",
                 acquire.result.ahead.value_or(-1));
  }
  if (op.status != OpStatus::kDone) return text;
  return text + With(op, [](const auto& one) { return Result(one); });
}

}  // namespace doclock::plain_test
