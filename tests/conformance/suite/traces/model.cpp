#include "model.h"

#include <algorithm>
#include <numeric>

namespace doclock::conformance {
namespace {

bool IsAttempt(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::kAcquire:
    case Step::Kind::kCreate:
    case Step::Kind::kShare:
    case Step::Kind::kCreateShared:
    case Step::Kind::kHandOver:
    case Step::Kind::kAcquireForLong:
    case Step::Kind::kHandOverForLong:
    case Step::Kind::kCreateForLong:
    case Step::Kind::kShareForLong:
      return true;
    default:
      return false;
  }
}

/// Of operations in one call a store may be in doubt, as long as there is what ought to be.
bool Agree(const std::string& expected, const std::string& found) {
  if (expected == found) return true;
  const std::string seen = expected.substr(expected.rfind("; "));
  return found.find(": in doubt (") != std::string::npos && found.ends_with(seen);
}

}  // namespace

Model::Part Model::Number(const Step& step) {
  const int who = attempts_.Of(step);
  return {step, who, IsAttempt(step.kind) ? attempts_.Add(step.key) : 0};
}

Lines Model::Play(const Turn& turn, const Lines& found) {
  if (turn.front().kind == Step::Kind::kCommit) return PlayCommit(turn.front(), found);
  std::vector<Part> parts;
  for (const Step& step : turn) parts.push_back(Number(step));
  std::vector<std::size_t> order(turn.size());
  std::iota(order.begin(), order.end(), 0);
  const Model before = *this;
  Lines first;
  do {
    *this = before;
    Lines lines = PlayIn(order, parts);
    if (lines == found) return found;
    if (turn.size() > 1 &&
        std::equal(lines.begin(), lines.end(), found.begin(), found.end(), Agree))
      return found;
    if (first.empty()) first = std::move(lines);
    // Without a unique index documents have nothing to do with each other.
  } while (unique_ && std::next_permutation(order.begin(), order.end()));
  return first;
}

Lines Model::PlayIn(const std::vector<std::size_t>& order, const std::vector<Part>& parts) {
  Lines said(parts.size());
  for (const std::size_t i : order) {
    who_ = parts[i].who;
    attempt_ = parts[i].attempt;
    said[i] = Do(parts[i].step);
  }
  Lines lines;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    lines.push_back(LineOf(parts[i].step, said[i], Look(parts[i].step.key)));
  }
  return lines;
}

Lines Model::PlayCommit(const Step& commit, const Lines& found) {
  std::vector<Part> parts;
  for (int i = 0; i < commit.parts(); ++i) {
    const Seen seen = LookForCommit(KeyOfPart(commit, i));
    parts.push_back(Number(PartOf(commit, i, seen, attempts_)));
  }
  const std::map<int, Document> before = documents_;
  Lines done, refused;
  for (const Part& part : parts) {
    who_ = part.who;
    attempt_ = part.attempt;
    const std::string said = Do(part.step);
    (said.starts_with(kDone) ? done : refused).push_back(PartText(part.step, said));
  }
  if (!refused.empty()) documents_ = before;
  const Lines all = {Joined(done)};
  Lines seen;
  for (const Part& part : parts) seen.push_back(Look(part.step.key));
  Lines first;
  for (const std::string& said : refused.empty() ? all : refused) {
    Lines lines{LineOf(commit, Joined({said, Joined(seen)}), Look(commit.key))};
    if (lines == found) return found;
    if (first.empty()) first = std::move(lines);
  }
  return first;
}

Seen Model::LookForCommit(int key) const {
  const auto found = documents_.find(key);
  if (found == documents_.end()) return {};
  const Document& document = found->second;
  if (document.malformed) return {.there = true};
  return {true, Live(document), document.holder};
}

std::string Model::Do(const Step& step) {
  const auto found = documents_.find(step.key);
  Document* const document = found == documents_.end() ? nullptr : &found->second;
  switch (step.kind) {
    case Step::Kind::kAcquire:
    case Step::Kind::kCreate:
    case Step::Kind::kAcquireForLong:
    case Step::Kind::kCreateForLong:
      return Acquire(step, document);
    case Step::Kind::kAcquireAgain:
    case Step::Kind::kCreateAgain:
      return who_ == kNobody ? kRefused : Acquire(step, document);
    case Step::Kind::kShare:
    case Step::Kind::kCreateShared:
    case Step::Kind::kShareForLong:
      return AcquireShare(step, document);
    case Step::Kind::kShareAgain:
      return who_ == kNobody ? kRefused : AcquireShare(step, document);
    case Step::Kind::kAcquireNil:
    case Step::Kind::kInsertNothing:
    case Step::Kind::kHandOverToItself:
      return kRefused;
    case Step::Kind::kRenewShares:
      return RenewShares(step, document);
    case Step::Kind::kNext:
      return AcquireNext(step, {});
    case Step::Kind::kSearchNext:
      return AcquireNext(step, SearchOf(step));
    case Step::Kind::kQuery:
      return Query(SearchOf(step));
    case Step::Kind::kInsert:
      return Insert(step, document);
    case Step::Kind::kPurge:
      return Purge();
    case Step::Kind::kIndex:
      return kDone;
    case Step::Kind::kUniqueIndex:
      return MakeUnique();
    case Step::Kind::kPlant:
      return Plant(step, document);
    case Step::Kind::kAdvance:
      now_ += step.pause();
      return kDone;
    default:
      return document == nullptr ? kMissing : DoWith(step, *document);
  }
}

std::string Model::DoWith(const Step& step, Document& document) {
  if (step.kind == Step::Kind::kSpoil) {
    document.malformed = true;
    return kDone;
  }
  if (document.malformed) return kMalformed;
  switch (step.kind) {
    case Step::Kind::kRenew:
      return Renew(step, document);
    case Step::Kind::kRenewShare:
      return RenewShare(step, who_, document);
    case Step::Kind::kReleaseShare:
    case Step::Kind::kReleaseWithNote:
      return ReleaseShare(step, document);
    case Step::Kind::kReplace:
    case Step::Kind::kReplacePlain:
    case Step::Kind::kSaveErase:
      return Save(step, document);
    case Step::Kind::kRead:
      return Read(document);
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
  if (document.malformed) return kMalformed;
  Picture picture;
  picture.version = document.version;
  picture.holder = document.holder;
  picture.left = std::max(EndOf(document) - now_, 0);
  for (const Share& share : document.shares) {
    if (Live(share)) picture.shares[share.holder] = share.until - now_;
  }
  picture.body = document.body;
  return TextOf(picture);
}

Listed Model::ListedOf(const Document& document) const {
  Listed listed;
  listed.live = document.holder == kShared ? LiveShares(document) : Live(document) ? 1 : 0;
  listed.closed = now_ < document.closed_until;
  listed.has_body = !document.body.empty();
  return listed;
}

Lines Model::LookAtAll(int documents) const {
  Lines lines;
  for (int key = 0; key < documents; ++key) {
    std::string line = std::to_string(key) + ": " + Look(key);
    const auto found = documents_.find(key);
    if (found != documents_.end() && !found->second.malformed) {
      const Document& document = found->second;
      line += "; " + TextOf(ListedOf(document)) + "; " + Read(document);
    }
    lines.push_back(line);
  }
  return lines;
}
}  // namespace doclock::conformance
