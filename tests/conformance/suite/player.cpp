#include "player.h"

#include <algorithm>
#include <sstream>

#include "doclock/errors.h"

namespace doclock::conformance {
namespace {

/// Rounded up: what a real server's clock went on meanwhile does not show.
int InTicks(std::chrono::milliseconds left) {
  return static_cast<int>((left + kTick - 1ms) / kTick);
}

std::chrono::milliseconds Last(int ticks) { return ticks * kTick; }

std::string TextOf(const StoreOp& op) {
  if (op.status == OpStatus::kBusy) {
    if (!op.detail || !op.detail->remaining) return "busy for an unknown time";
    return BusyText(InTicks(*op.detail->remaining));
  }
  if (op.status == OpStatus::kFailed && op.detail->code == Errc::kRefused) return kRefused;
  std::ostringstream text;
  PrintTo(op.status, &text);
  if (op.status == OpStatus::kFailed || op.status == OpStatus::kInDoubt) {
    text << " (" << op.detail->message << ")";
  }
  return text.str();
}

/// The version a write of this step claims to know; never "any", which is below zero.
std::int64_t Claimed(const Step& step, std::int64_t known) {
  return step.stale ? std::max<std::int64_t>(known - 1, 0) : known;
}

WriteKind WriteOf(Step::Kind kind) {
  if (kind == Step::Kind::kCheckpoint) return WriteKind::kCheckpoint;
  return kind == Step::Kind::kErase ? WriteKind::kErase : WriteKind::kRelease;
}

}  // namespace

std::vector<std::string> Player::Play(const std::vector<Step>& steps) {
  for (int i = 0; i < Step::kWriters; ++i) writers_.push_back(FreshId());
  std::vector<std::string> lines;
  for (const Step& step : steps) {
    const std::string said = Do(step);
    lines.push_back(LineOf(step, said, Look(step.key)));
  }
  return lines;
}

std::string Player::Do(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kAcquire:
    case Step::Kind::kCreate:
    case Step::Kind::kWant:
    case Step::Kind::kShare:
    case Step::Kind::kCreateShared:
    case Step::Kind::kAcquireForLong:
    case Step::Kind::kAcquireNil:
    case Step::Kind::kShareAgain:
      return Acquire(step);
    case Step::Kind::kNext:
      return AcquireNext(step);
    case Step::Kind::kRenew:
      return Renew(step, LockMode::kExclusive);
    case Step::Kind::kRenewShare:
      return Renew(step, LockMode::kShared);
    case Step::Kind::kReleaseShare:
    case Step::Kind::kReleaseWithNote:
      return ReleaseShare(step);
    case Step::Kind::kRelease:
    case Step::Kind::kReleaseByValue:
    case Step::Kind::kCheckpoint:
    case Step::Kind::kHandOver:
    case Step::Kind::kHandOverForLong:
    case Step::Kind::kErase:
      return Write(step);
    case Step::Kind::kInsertNothing:
      return TextOf(client_.InsertBody(step.key, {}));
    case Step::Kind::kInsert:
      return TextOf(client_.Insert(step.key, {{"value", step.number}}));
    case Step::Kind::kReplace:
    case Step::Kind::kSaveErase:
      return Save(step);
    case Step::Kind::kExpire:
      return Intervene(step, Intervention::kExpire);
    case Step::Kind::kBreak:
      return Intervene(step, Intervention::kBreak);
    case Step::Kind::kSteal:
      return Intervene(step, Intervention::kSteal);
    case Step::Kind::kPurge:
      return std::to_string(client_.Purge());
    case Step::Kind::kAdvance:
      clock_.Advance(Last(step.pause()));
      return kDone;
  }
  return {};
}

std::string Player::Look(int key) {
  const ReadOp read = client_.Read(key);
  if (read.status != OpStatus::kDone) return TextOf(read);
  Picture picture;
  picture.version = read.version;
  picture.holder = HolderOf(read.lock_id);
  picture.left = read.locked ? InTicks(read.remaining) : 0;
  picture.value = read.body.json().at("value");
  if (picture.holder == kShared) {
    for (const LockRow& row : client_.Locks({.key = key})) {
      if (row.live) picture.shares[HolderOf(row.lock_id)] = InTicks(row.left);
    }
  }
  return conformance::TextOf(picture);
}

Uuid Player::NewAttempt(const Step& step) {
  attempts_.Add(step.key);
  return ids_.emplace_back(FreshId());
}

Uuid Player::IdOf(const Step& step) const {
  const int attempt = attempts_.Of(step);
  return attempt == 0 ? Uuid{} : ids_[static_cast<std::size_t>(attempt - 1)];
}

int Player::HolderOf(const Uuid& id) const {
  if (id.is_nil()) return kNobody;
  if (id == kSharedLockId) return kShared;
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  return found == ids_.end() ? kStranger : static_cast<int>(found - ids_.begin()) + 1;
}

std::string Player::Acquire(const Step& step) {
  const bool again = step.kind == Step::Kind::kShareAgain;
  const bool nil = step.kind == Step::Kind::kAcquireNil;
  AcquireArgs args{.id = Uuid{}, .ttl = Last(step.ttl())};
  if (!nil) args.id = again ? IdOf(step) : NewAttempt(step);
  if (step.kind == Step::Kind::kAcquireForLong) args.min_hold = Last(step.min_hold());
  const bool shared =
      again || step.kind == Step::Kind::kShare || step.kind == Step::Kind::kCreateShared;
  if (shared) {
    args.mode = LockMode::kShared;
    args.max_holders = step.limit();
  }
  if (step.kind == Step::Kind::kCreate || step.kind == Step::Kind::kCreateShared) {
    args.insert = MakeBody({{"value", step.number}});
  }
  if (step.kind == Step::Kind::kWant) {
    args.intent_id = writers_[static_cast<std::size_t>(step.writer())];
    args.intent = Last(step.intent());
  }
  const AcquireOp op = client_.Acquire(step.key, args);
  return op.status == OpStatus::kDone ? GrantedText(op.created, op.took_over) : TextOf(op);
}

std::string Player::AcquireNext(const Step& step) {
  const Client::Next next = client_.AcquireNext(Filter());
  const bool done = next.status == OpStatus::kDone;
  const int key = done ? static_cast<int>(std::get<std::int64_t>(next.key.value())) : step.key;
  attempts_.Add(key);
  ids_.push_back(next.id);
  return done ? NextText(key, next.op.took_over) : TextOf(next.op);
}

std::string Player::Renew(const Step& step, LockMode mode) {
  return TextOf(client_.Renew(step.key, IdOf(step), Last(step.ttl()), mode));
}

std::string Player::ReleaseShare(const Step& step) {
  WriteArgs args{.mode = LockMode::kShared};
  if (step.kind == Step::Kind::kReleaseWithNote) {
    args.body = MakeBody({{"value", step.number}});
    args.merge = true;
  }
  return TextOf(client_.Release(step.key, IdOf(step), args));
}

std::string Player::Write(const Step& step) {
  const Uuid id = IdOf(step);
  GrantRequest next;
  WriteArgs args;
  args.expected = Claimed(step, client_.Read(step.key).version);
  args.body = MakeBody({{"value", step.number}});
  args.ttl = Last(step.ttl());
  if (step.kind == Step::Kind::kReleaseByValue) {
    args.expected = kAnyVersion;
    args.merge = true;
  }
  if (step.kind == Step::Kind::kHandOver || step.kind == Step::Kind::kHandOverForLong) {
    if (step.kind == Step::Kind::kHandOverForLong) next.min_hold = Last(step.min_hold());
    next.lock_id = NewAttempt(step);
    next.ttl = Last(step.ttl());
    args.next = &next;
  }
  return TextOf(client_.Write(step.key, WriteOf(step.kind), id, args));
}

std::string Player::Save(const Step& step) {
  const ReadOp read = client_.Read(step.key);
  const std::int64_t expected = Claimed(step, read.version);
  if (step.kind == Step::Kind::kSaveErase) {
    return TextOf(client_.Erase(step.key, expected, read.born));
  }
  return TextOf(client_.Replace(step.key, expected, read.born, {{"value", step.number}}));
}

std::string Player::Intervene(const Step& step, Intervention what) {
  try {
    client_.Intervene(step.key, what);
    return kDone;
  } catch (const Error& error) {
    if (error.errc() == Errc::kNotFound) return kMissing;
    return error.errc() == Errc::kNotOwner ? kNotHeld : error.what();
  }
}

}  // namespace doclock::conformance
