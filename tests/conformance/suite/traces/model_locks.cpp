// The rules for locks.

#include <algorithm>

#include "model.h"

namespace doclock::conformance {

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

Model::Share* Model::FindShare(Document& document, int holder) const {
  for (Share& share : document.shares) {
    if (share.holder == holder && Live(share)) return &share;
  }
  return nullptr;
}

void Model::Clear(Document& document) {
  document.holder = kNobody;
  document.shares.clear();
}

void Model::Grant(Document& document, int holder, int ttl) const {
  Clear(document);
  document.holder = holder;
  document.until = now_ + ttl;
}

void Model::CloseFor(const Step& step, Document& document) const {
  if (step.for_long())
    document.closed_until = std::max(document.closed_until, now_ + step.min_hold());
}

std::string Model::FindOrCreate(const Step& step, Document*& document) {
  if (document == nullptr) {
    if (!step.creates()) return kMissing;
    const auto body = NewBody(step, {});
    if (!body) return ConflictText(kUniqueField);
    document = &documents_[step.key];
    document->body = *body;
  }
  return document->malformed ? kMalformed : "";
}
std::string Model::Acquire(const Step& step, Document* document) {
  const bool creates = document == nullptr;
  if (std::string refusal = FindOrCreate(step, document); !refusal.empty()) return refusal;
  const int end = std::max(EndOf(*document), document->closed_until);
  if (now_ < end) return BusyUntil(end);
  const bool took_over = document->holder != kNobody;
  ++document->version;
  Grant(*document, step.again() ? who_ : attempt_, step.ttl());
  CloseFor(step, *document);
  return TextOf(Granted{creates, took_over, document->version, document->body});
}

std::string Model::AcquireNext(const Step& step, const Search& search) {
  for (const int key : Find(search)) {
    Document& document = documents_[key];
    if (search.state == Filter::LockState::kLocked) break;
    if (document.malformed || now_ < std::max(EndOf(document), document.closed_until)) continue;
    const bool took_over = document.holder != kNobody;
    ++document.version;
    Grant(document, attempts_.Add(key), kNextTicks);
    return NextText(key, Granted{false, took_over, document.version, document.body});
  }
  attempts_.Add(step.key);
  return kMissing;
}

std::string Model::AcquireShare(const Step& step, Document* document) {
  const bool creates = document == nullptr;
  if (std::string refusal = FindOrCreate(step, document); !refusal.empty()) return refusal;
  const bool shared = document->holder == kShared;
  const int end = std::max(EndOfWaitForShare(step, *document), document->closed_until);
  if (now_ < end) return BusyUntil(end);
  const int holder = step.again() ? who_ : attempt_;
  if (FindShare(*document, holder) != nullptr) return kRefused;
  const bool took_over = !shared && document->holder != kNobody;
  ++document->version;
  document->holder = kShared;
  document->shares.push_back({holder, now_ + step.ttl()});
  CloseFor(step, *document);
  return TextOf(Granted{creates, took_over, document->version, document->body});
}
int Model::EndOfWaitForShare(const Step& step, const Document& document) const {
  if (document.holder != kShared && Live(document)) return document.until;
  if (LiveShares(document) >= step.limit()) return FirstEndOf(document);
  return now_;
}
std::string Model::Renew(const Step& step, Document& document) const {
  if (!Live(document) || document.holder != who_) return kLost;
  document.until = std::max(document.until, now_ + step.ttl());
  return kDone;
}

std::string Model::RenewShare(const Step& step, int holder, Document& document) const {
  Share* const share = FindShare(document, holder);
  if (share == nullptr) return kLost;
  share->until = std::max(share->until, now_ + step.ttl());
  return kDone;
}

std::string Model::RenewShares(const Step& step, Document* document) const {
  Lines said;
  for (const int holder : attempts_.Last(step.key, step.limit())) {
    if (document == nullptr) {
      said.emplace_back(kMissing);
    } else {
      said.push_back(document->malformed ? kMalformed : RenewShare(step, holder, *document));
    }
  }
  return Joined(said);
}
void Model::ReleaseShares(Document& document) const {
  if (Live(document)) Clear(document);
}

std::string Model::Expire(Document& document) const {
  if (document.holder == kNobody) return kNotHeld;
  if (document.holder == kShared) {
    ReleaseShares(document);
  } else if (Live(document)) {
    ++document.version;
    document.until = now_;
  }
  return kDone;
}

std::string Model::Break(Document& document) const {
  if (document.holder == kNobody) return kNotHeld;
  if (document.holder == kShared) {
    ReleaseShares(document);
  } else {
    ++document.version;
    Clear(document);
  }
  return kDone;
}

std::string Model::Steal(Document& document) const {
  if (document.holder == kShared) ReleaseShares(document);
  // A hand-over does not look at min_hold.
  const bool handed_over = document.holder != kNobody && document.holder != kShared;
  if (!handed_over && now_ < document.closed_until) return kClosed;
  ++document.version;
  Grant(document, kStranger, kStolenTicks);
  return kDone;
}

std::string Model::Purge() {
  int purged = 0;
  for (auto& [key, document] : documents_) {
    if (document.malformed || document.holder == kNobody || Live(document)) continue;
    Clear(document);
    ++purged;
  }
  return std::to_string(purged);
}
}  // namespace doclock::conformance
