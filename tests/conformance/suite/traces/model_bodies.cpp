// The rules for bodies: writes, searches and the unique index.

#include <algorithm>

#include "model.h"
#include "model_search.h"

namespace doclock::conformance {
namespace {

bool LeavesBody(Step::Kind kind) {
  return kind == Step::Kind::kReleasePlain || kind == Step::Kind::kCheckpointPlain ||
         kind == Step::Kind::kReplacePlain;
}

bool Merges(Step::Kind kind) {
  return kind == Step::Kind::kReleaseByValue || kind == Step::Kind::kReleaseWithNote;
}

}  // namespace

std::optional<Json> Model::NewBody(const Step& step, const Json& old) const {
  if (LeavesBody(step.kind)) return old;
  Json body = Merges(step.kind) ? old : Json::object();
  body.update(ContentOf(step));
  const int sameness = TagOf(body).sameness;
  const bool repeats =
      unique_ && sameness != 0 &&
      std::any_of(documents_.begin(), documents_.end(), [&](const auto& other) {
        return other.first != step.key && TagOf(other.second.body).sameness == sameness;
      });
  return repeats ? std::nullopt : std::optional(body);
}
std::string Model::ReleaseShare(const Step& step, Document& document) const {
  Share* const share = FindShare(document, who_);
  if (share == nullptr) return kLost;
  if (step.kind == Step::Kind::kReleaseWithNote) {
    const auto body = NewBody(step, document.body);
    if (!body) return ConflictText(kUniqueField);
    ++document.version;
    document.body = *body;
  }
  share->until = now_;
  if (!Live(document)) Clear(document);
  return WrittenText(document.version);
}

std::string Model::Write(const Step& step, Document& document) {
  const bool version_holds = !step.stale || step.kind == Step::Kind::kReleaseByValue;
  if (document.holder == kNobody || document.holder != who_ || !version_holds) return kLost;
  if (step.kind == Step::Kind::kErase) {
    documents_.erase(step.key);
    return kDone;
  }
  const auto body = NewBody(step, document.body);
  if (!body) return ConflictText(kUniqueField);
  ++document.version;
  document.body = *body;
  if (step.kind == Step::Kind::kCheckpoint || step.kind == Step::Kind::kCheckpointPlain) {
    document.until = now_ + step.ttl();
  } else if (step.kind == Step::Kind::kHandOver || step.kind == Step::Kind::kHandOverForLong) {
    Grant(document, attempt_, step.ttl());
    CloseFor(step, document);
  } else {
    Clear(document);
  }
  return WrittenText(document.version);
}

std::string Model::Insert(const Step& step, const Document* document) {
  if (document != nullptr) return document->malformed ? kMalformed : kConflict;
  const auto body = NewBody(step, {});
  if (!body) return ConflictText(kUniqueField);
  documents_[step.key].version = 1;
  documents_[step.key].body = *body;
  return WrittenText(1);
}

std::string Model::Save(const Step& step, Document& document) {
  if (Live(document)) return BusyUntil(EndOf(document));
  if (step.stale) return kConflict;
  if (step.kind == Step::Kind::kSaveErase) {
    documents_.erase(step.key);
    return kDone;
  }
  const auto body = NewBody(step, document.body);
  if (!body) return ConflictText(kUniqueField);
  ++document.version;
  document.body = *body;
  Clear(document);
  return WrittenText(document.version);
}
std::string Model::Read(const Document& document) const {
  return RowText(document.version, Live(document), document.body);
}

std::vector<int> Model::Find(const Search& search) const {
  std::vector<int> found;
  for (const auto& [key, document] : documents_) {
    if (search.state == Filter::LockState::kLocked && !Live(document)) continue;
    if (search.state == Filter::LockState::kFree && Live(document)) continue;
    if (Meets(document.body, search)) found.push_back(key);
  }
  std::stable_sort(found.begin(), found.end(), [&](int a, int b) {
    return ComesBefore(documents_.at(a).body, documents_.at(b).body, search);
  });
  return found;
}

/// No rule says how a query shows malformed documents.
std::string Model::Query(const Search& search) const {
  Lines rows;
  for (const int key : Find(search)) {
    const Document& document = documents_.at(key);
    if (!document.malformed) rows.push_back(std::to_string(key) + " " + Read(document));
  }
  return Joined(rows);
}

std::string Model::MakeUnique() {
  std::vector<int> all;
  for (const auto& [key, document] : documents_) {
    const int sameness = TagOf(document.body).sameness;
    if (sameness == 0) continue;
    if (std::find(all.begin(), all.end(), sameness) != all.end()) return kConflict;
    all.push_back(sameness);
  }
  unique_ = true;
  return kDone;
}

std::string Model::Plant(const Step& step, const Document* document) {
  if (document != nullptr) return document->malformed ? kMalformed : kThereAlready;
  documents_[step.key].body = {{"value", step.number}};
  return kDone;
}
}  // namespace doclock::conformance
