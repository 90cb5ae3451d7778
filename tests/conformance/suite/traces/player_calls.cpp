// Turns the steps of a trace into calls of a store.

#include <algorithm>
#include <utility>

#include "player.h"

namespace doclock::conformance {
namespace {

std::chrono::milliseconds Last(int ticks) { return ticks * kTick; }

Body BodyOf(const Step& step) { return MakeBody(ContentOf(step)); }

/// The version a write of this step claims to know; never "any", which is below zero.
std::int64_t Claimed(const Step& step, std::int64_t known) {
  if (!step.stale) return known;
  return known == 0 ? 1 : known - 1;
}

WriteKind WriteOf(Step::Kind kind) {
  if (kind == Step::Kind::kCheckpoint || kind == Step::Kind::kCheckpointPlain)
    return WriteKind::kCheckpoint;
  return kind == Step::Kind::kErase ? WriteKind::kErase : WriteKind::kRelease;
}

bool HasBody(Step::Kind kind) {
  return kind != Step::Kind::kReleasePlain && kind != Step::Kind::kCheckpointPlain &&
         kind != Step::Kind::kErase;
}

}  // namespace

std::vector<Player::Call> Player::CallsOf(const Step& step) {
  if (step.kind == Step::Kind::kRenewShares) return RenewShares(step);
  const auto call = [&]() -> Call {
    switch (step.kind) {
      case Step::Kind::kRenew:
        return Renew(step, IdOf(step), LockMode::kExclusive);
      case Step::Kind::kRenewShare:
        return Renew(step, IdOf(step), LockMode::kShared);
      case Step::Kind::kReleaseShare:
      case Step::Kind::kReleaseWithNote:
        return ReleaseShare(step);
      case Step::Kind::kRelease:
      case Step::Kind::kReleasePlain:
      case Step::Kind::kReleaseByValue:
      case Step::Kind::kCheckpoint:
      case Step::Kind::kCheckpointPlain:
      case Step::Kind::kHandOver:
      case Step::Kind::kHandOverForLong:
      case Step::Kind::kHandOverToItself:
      case Step::Kind::kErase:
        return Write(step);
      case Step::Kind::kInsert:
      case Step::Kind::kInsertNothing:
      case Step::Kind::kReplace:
      case Step::Kind::kReplacePlain:
      case Step::Kind::kSaveErase:
        return Save(step);
      case Step::Kind::kRead:
        return {ReadOp(client_.collection(), KeyOf(step.key))};
      default:
        return Acquire(step);
    }
  };
  std::vector<Call> calls;
  calls.push_back(call());
  return calls;
}

Player::Call Player::Acquire(const Step& step) {
  AcquireOp op(client_.collection(), KeyOf(step.key));
  if (step.kind != Step::Kind::kAcquireNil) {
    op.request.grant.lock_id = step.again() ? IdOf(step) : NewAttempt(step);
  }
  op.request.grant.ttl = Last(step.ttl());
  if (step.for_long()) op.request.grant.min_hold = Last(step.min_hold());
  if (step.shared()) {
    op.request.grant.mode = LockMode::kShared;
    op.request.grant.max_holders = step.limit();
  }
  if (step.creates()) op.request.insert = BodyOf(step);
  return {std::move(op)};
}

Player::Call Player::Renew(const Step& step, const Uuid& id, LockMode mode) {
  RenewOp op(client_.collection(), KeyOf(step.key));
  op.request.lock_id = id;
  op.request.ttl = Last(step.ttl());
  op.request.mode = mode;
  return {std::move(op)};
}

std::vector<Player::Call> Player::RenewShares(const Step& step) {
  std::vector<Call> calls;
  for (const int attempt : attempts_.Last(step.key, step.limit())) {
    calls.push_back(Renew(step, IdOfAttempt(attempt), LockMode::kShared));
  }
  return calls;
}

Player::Call Player::ReleaseShare(const Step& step) {
  WriteOp op(client_.collection(), KeyOf(step.key));
  op.request.lock_id = IdOf(step);
  op.request.mode = LockMode::kShared;
  if (step.kind == Step::Kind::kReleaseWithNote) {
    op.request.body = BodyOf(step);
    op.request.merge = true;
  }
  return {std::move(op)};
}

Player::Call Player::Write(const Step& step) {
  WriteOp op(client_.collection(), KeyOf(step.key));
  op.request.write = WriteOf(step.kind);
  op.request.lock_id = IdOf(step);
  op.request.expected = Claimed(step, client_.Read(KeyOf(step.key)).result.version);
  op.request.ttl = Last(step.ttl());
  if (HasBody(step.kind)) op.request.body = BodyOf(step);
  if (step.kind == Step::Kind::kReleaseByValue) {
    op.request.expected = kAnyVersion;
    op.request.merge = true;
  }
  std::unique_ptr<GrantRequest> next = NextOf(step, op.request.lock_id);
  op.request.next = next.get();
  return {std::move(op), std::move(next)};
}

std::unique_ptr<GrantRequest> Player::NextOf(const Step& step, const Uuid& holder) {
  const bool to_itself = step.kind == Step::Kind::kHandOverToItself;
  const bool hands_over =
      to_itself || step.kind == Step::Kind::kHandOver || step.kind == Step::Kind::kHandOverForLong;
  if (!hands_over) return nullptr;
  auto next = std::make_unique<GrantRequest>();
  next->lock_id = to_itself ? holder : NewAttempt(step);
  next->ttl = Last(step.ttl());
  if (step.for_long()) next->min_hold = Last(step.min_hold());
  return next;
}

Player::Call Player::Save(const Step& step) {
  SaveOp op(client_.collection(), KeyOf(step.key));
  op.request.write_id = FreshId();
  if (step.kind == Step::Kind::kInsert || step.kind == Step::Kind::kInsertNothing) {
    op.request.save = SaveKind::kInsert;
  } else {
    const ReadOp read = client_.Read(KeyOf(step.key));
    op.request.save = step.kind == Step::Kind::kSaveErase ? SaveKind::kErase : SaveKind::kReplace;
    op.request.expected = Claimed(step, read.result.version);
    op.request.born = read.result.born;
  }
  if (step.kind == Step::Kind::kInsert || step.kind == Step::Kind::kReplace)
    op.request.body = BodyOf(step);
  return {std::move(op)};
}

}  // namespace doclock::conformance
