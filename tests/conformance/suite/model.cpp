#include "model.h"

#include <algorithm>

namespace doclock::conformance {
namespace {

constexpr const char* kLost = "lost";
constexpr const char* kConflict = "conflict";

bool IsAttempt(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::kAcquire:
    case Step::Kind::kCreate:
    case Step::Kind::kWant:
    case Step::Kind::kShare:
    case Step::Kind::kCreateShared:
    case Step::Kind::kHandOver:
    case Step::Kind::kAcquireForLong:
    case Step::Kind::kHandOverForLong:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::string> Model::Play(const std::vector<Step>& steps) {
  std::vector<std::string> lines;
  for (const Step& step : steps) {
    who_ = attempts_.Of(step);
    if (IsAttempt(step.kind)) attempt_ = attempts_.Add(step.key);
    const std::string said = Do(step);
    lines.push_back(LineOf(step, said, Look(step.key)));
  }
  return lines;
}

std::string Model::Do(const Step& step) {
  const auto found = documents_.find(step.key);
  Document* const document = found == documents_.end() ? nullptr : &found->second;
  switch (step.kind) {
    case Step::Kind::kAcquire:
    case Step::Kind::kCreate:
    case Step::Kind::kWant:
    case Step::Kind::kAcquireForLong:
      return Acquire(step, document);
    case Step::Kind::kShare:
    case Step::Kind::kCreateShared:
      return AcquireShare(step, document);
    case Step::Kind::kShareAgain:
      return who_ == kNobody ? kRefused : AcquireShare(step, document);
    case Step::Kind::kAcquireNil:
    case Step::Kind::kInsertNothing:
      return kRefused;
    case Step::Kind::kNext:
      return AcquireNext(step);
    case Step::Kind::kInsert:
      return Insert(step, document);
    case Step::Kind::kPurge:
      return Purge();
    case Step::Kind::kAdvance:
      now_ += step.pause();
      return kDone;
    default:
      return document == nullptr ? kMissing : DoWith(step, *document);
  }
}

std::string Model::DoWith(const Step& step, Document& document) {
  switch (step.kind) {
    case Step::Kind::kRenew:
      return Renew(step, document);
    case Step::Kind::kRenewShare:
      return RenewShare(step, document);
    case Step::Kind::kReleaseShare:
    case Step::Kind::kReleaseWithNote:
      return ReleaseShare(step, document);
    case Step::Kind::kReplace:
    case Step::Kind::kSaveErase:
      return Save(step, document);
    case Step::Kind::kExpire:
      return Expire(document);
    case Step::Kind::kBreak:
      return Break(document);
    case Step::Kind::kSteal:
      return Steal(document);
    default:
      return Write(step, document);
  }
}

std::string Model::Look(int key) const {
  const auto found = documents_.find(key);
  if (found == documents_.end()) return kMissing;
  const Document& document = found->second;
  Picture picture;
  picture.version = document.version;
  picture.holder = document.holder;
  picture.left = std::max(EndOf(document) - now_, 0);
  for (const Share& share : document.shares) {
    if (Live(share)) picture.shares[share.holder] = share.until - now_;
  }
  picture.value = document.value;
  return TextOf(picture);
}

int Model::EndOf(const Document& document) {
  if (document.holder == kNobody) return 0;
  if (document.holder != kShared) return document.until;
  int end = 0;
  for (const Share& share : document.shares) end = std::max(end, share.until);
  return end;
}

int Model::LiveShares(const Document& document) const {
  const auto live = [this](const Share& share) { return Live(share); };
  return static_cast<int>(std::count_if(document.shares.begin(), document.shares.end(), live));
}

int Model::FirstEndOf(const Document& document) const {
  int end = EndOf(document);
  for (const Share& share : document.shares) {
    if (Live(share)) end = std::min(end, share.until);
  }
  return end;
}

Model::Share* Model::FindShare(Document& document) const {
  for (Share& share : document.shares) {
    if (share.holder == who_ && Live(share)) return &share;
  }
  return nullptr;
}

void Model::Clear(Document& document) {
  document.holder = kNobody;
  document.shares.clear();
}

void Model::Grant(Document& document, int holder, int ttl) const {
  Clear(document);
  document.intent = kNobody;
  document.holder = holder;
  document.until = now_ + ttl;
}

void Model::CloseFor(const Step& step, Document& document) const {
  const bool for_long =
      step.kind == Step::Kind::kAcquireForLong || step.kind == Step::Kind::kHandOverForLong;
  if (for_long) document.closed_until = std::max(document.closed_until, now_ + step.min_hold());
}

void Model::LeaveIntent(const Step& step, Document& document) const {
  const int writer = step.writer() + 1;
  if (step.kind != Step::Kind::kWant || document.holder != kShared) return;
  if (HasIntent(document) && document.intent != writer) return;
  document.intent = writer;
  document.intent_until = now_ + step.intent();
}

std::string Model::Acquire(const Step& step, Document* document) {
  if (document == nullptr) {
    if (step.kind != Step::Kind::kCreate) return kMissing;
    document = &documents_[step.key];
    document->version = 1;
    document->value = step.number;
    Grant(*document, attempt_, step.ttl());
    return GrantedText(true, false);
  }
  if (Live(*document)) LeaveIntent(step, *document);
  const int end = std::max(EndOf(*document), document->closed_until);
  if (now_ < end) return BusyUntil(end);
  const bool took_over = document->holder != kNobody;
  ++document->version;
  Grant(*document, attempt_, step.ttl());
  CloseFor(step, *document);
  return GrantedText(false, took_over);
}

std::string Model::AcquireNext(const Step& step) {
  for (auto& [key, document] : documents_) {
    if (now_ < std::max(EndOf(document), document.closed_until)) continue;
    const bool took_over = document.holder != kNobody;
    ++document.version;
    Grant(document, attempts_.Add(key), kNextTicks);
    return NextText(key, took_over);
  }
  attempts_.Add(step.key);
  return kMissing;
}

std::string Model::AcquireShare(const Step& step, Document* document) {
  const bool creates = document == nullptr;
  if (creates) {
    if (step.kind != Step::Kind::kCreateShared) return kMissing;
    document = &documents_[step.key];
    document->value = step.number;
  }
  const bool shared = document->holder == kShared;
  const int end = std::max(EndOfWaitForShare(step, *document), document->closed_until);
  if (now_ < end) return BusyUntil(end);
  const bool again = step.kind == Step::Kind::kShareAgain;
  if (again && FindShare(*document) != nullptr) return kRefused;
  const bool took_over = !shared && document->holder != kNobody;
  ++document->version;
  document->holder = kShared;
  document->shares.push_back({again ? who_ : attempt_, now_ + step.ttl()});
  return GrantedText(creates, took_over);
}

int Model::EndOfWaitForShare(const Step& step, const Document& document) const {
  if (document.holder != kShared && Live(document)) return document.until;
  if (LiveShares(document) >= step.limit()) return FirstEndOf(document);
  return HasIntent(document) ? document.intent_until : now_;
}

std::string Model::Renew(const Step& step, Document& document) const {
  if (!Live(document) || document.holder != who_) return kLost;
  document.until = std::max(document.until, now_ + step.ttl());
  return kDone;
}

std::string Model::RenewShare(const Step& step, Document& document) const {
  Share* const share = FindShare(document);
  if (share == nullptr) return kLost;
  share->until = std::max(share->until, now_ + step.ttl());
  return kDone;
}

std::string Model::ReleaseShare(const Step& step, Document& document) const {
  Share* const share = FindShare(document);
  if (share == nullptr) return kLost;
  share->until = now_;
  if (step.kind == Step::Kind::kReleaseWithNote) {
    ++document.version;
    document.value = step.number;
  }
  if (!Live(document)) Clear(document);
  return kDone;
}

std::string Model::Write(const Step& step, Document& document) {
  const bool version_holds = !step.stale || step.kind == Step::Kind::kReleaseByValue;
  if (document.holder == kNobody || document.holder != who_ || !version_holds) return kLost;
  if (step.kind == Step::Kind::kErase) {
    documents_.erase(step.key);
    return kDone;
  }
  ++document.version;
  document.value = step.number;
  if (step.kind == Step::Kind::kCheckpoint) {
    document.until = now_ + step.ttl();
  } else if (step.kind == Step::Kind::kHandOver || step.kind == Step::Kind::kHandOverForLong) {
    Grant(document, attempt_, step.ttl());
    CloseFor(step, document);
  } else {
    Clear(document);
  }
  return kDone;
}

std::string Model::Insert(const Step& step, const Document* document) {
  if (document != nullptr) return kConflict;
  documents_[step.key].version = 1;
  documents_[step.key].value = step.number;
  return kDone;
}

std::string Model::Save(const Step& step, Document& document) {
  if (Live(document)) return BusyUntil(EndOf(document));
  // A version of 0 less 1 is "any", which only an erase knows; versions here begin at 1.
  if (step.stale) return kConflict;
  if (step.kind == Step::Kind::kSaveErase) {
    documents_.erase(step.key);
    return kDone;
  }
  ++document.version;
  document.value = step.number;
  Clear(document);
  return kDone;
}

std::string Model::Expire(Document& document) const {
  if (document.holder == kNobody) return kNotHeld;
  document.until = std::min(document.until, now_);
  for (Share& share : document.shares) share.until = std::min(share.until, now_);
  return kDone;
}

std::string Model::Break(Document& document) {
  if (document.holder == kNobody) return kNotHeld;
  ++document.version;
  Clear(document);
  return kDone;
}

std::string Model::Steal(Document& document) const {
  ++document.version;
  Grant(document, kStranger, kStolenTicks);
  return kDone;
}

std::string Model::Purge() {
  int purged = 0;
  for (auto& [key, document] : documents_) {
    if (document.holder == kNobody || Live(document)) continue;
    Clear(document);
    ++purged;
  }
  return std::to_string(purged);
}

}  // namespace doclock::conformance
