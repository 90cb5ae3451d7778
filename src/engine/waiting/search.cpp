#include "engine/waiting/search.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/calls/background_release.h"
#include "engine/calls/failure.h"

namespace doclock::detail {
namespace {

/// Why the store could not search; no document was chosen yet.
FailurePtr NoSearch(const AcquireOp& op) noexcept {
  FailurePtr failure = FailureOf(op);
  failure->document = nullptr;
  failure->message = "the next document of '" + op.collection->name() + "' could not be looked for";
  if (op.detail && !op.detail->message.empty()) failure->message += ": " + op.detail->message;
  return failure;
}

bool IsSame(const Filter::Condition& a, const Filter::Condition& b) {
  return a.op == b.op && a.path == b.path && a.value.type() == b.value.type() && a.value == b.value;
}

void AskStore(StoreCalls& calls, const AcquireSpec& spec, AcquireOp& op, Key& key) noexcept {
  try {
    calls.store().AcquireNext(spec.filter, op, key, calls.budget());
  } catch (...) {
    op.status = OpStatus::kInDoubt;
  }
  if (op.status == OpStatus::kPending) op.status = OpStatus::kInDoubt;
}

FailurePtr InDoubt(LeaseBook& book, const AcquireSpec& spec, const AcquireOp& op, const Key& found,
                   TimePoint sent) noexcept {
  book.events().InDoubt(*spec.collection, *op.key);
  // The lock of an unknown document ends with its lease.
  if (op.key == &found) {
    ReleaseInBackground(book.calls(), *spec.collection, found, op.request.grant.lock_id,
                        op.request.grant.mode, sent + spec.ttl, Ghost::kYes);
  }
  return MakeFailure(Errc::kInDoubt, [&] {
    return "whether a document of '" + spec.collection->name() + "' was locked is unknown";
  });
}

AcquireResult Granted(LeaseBook& book, const AcquireSpec& spec, const AcquireOp& op,
                      const Key& found, TimePoint sent) noexcept {
  AcquireResult result;
  result.grant.body = op.result.body;
  result.grant.took_over = op.result.took_over;
  result.grant.lease = book.Make(spec, found, op.request.grant, op.result.version, op.result.born,
                                 op.result.body, sent);
  if (result.grant.lease) return result;
  result.failure = MakeFailure(Errc::kUnavailable, [&] {
    return GrantedTooLate(book.calls().store(), "a document of '" + spec.collection->name() + "'");
  });
  return result;
}

}  // namespace

AcquireResult SearchOnce(LeaseBook& book, const AcquireSpec& spec, bool asks_free_in) {
  AcquireResult result;
  const Key unknown;
  Key found;
  AcquireOp op(*spec.collection, unknown);
  op.request.grant = MakeGrant(spec);
  op.request.asks_free_in = asks_free_in;
  const TimePoint sent = book.calls().Now();
  AskStore(book.calls(), spec, op, found);
  if (op.status == OpStatus::kDone) return Granted(book, spec, op, found, sent);
  if (op.status == OpStatus::kMissing) {
    result.failure = NothingFree(spec, Errc::kNotFound);
    result.failure->remaining = op.result.free_in;
  } else if (op.status == OpStatus::kInDoubt) {
    result.failure = InDoubt(book, spec, op, found, sent);
  } else {
    result.failure = op.key == &found ? FailureOf(op) : NoSearch(op);
  }
  return result;
}

FailurePtr NothingFree(const AcquireSpec& spec, Errc code) noexcept {
  const std::string& where = spec.collection->name();
  if (code == Errc::kCancelled) {
    return MakeFailure(code,
                       [&] { return "the wait for a document of '" + where + "' was stopped"; });
  }
  return MakeFailure(Errc::kNotFound,
                     [&] { return "no free document of '" + where + "' matches"; });
}

bool WantsTheSame(const AcquireSpec& a, const AcquireSpec& b) {
  const auto& wanted = a.filter.conditions();
  const auto& other = b.filter.conditions();
  return a.mode == b.mode && a.max_holders == b.max_holders &&
         a.filter.lock_state() == b.filter.lock_state() &&
         std::equal(wanted.begin(), wanted.end(), other.begin(), other.end(), IsSame);
}

}  // namespace doclock::detail
