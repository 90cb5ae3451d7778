#include "simulation/invariants/invariants.h"

#include <algorithm>
#include <utility>

namespace doclock::simulation {
namespace {

std::string NameOf(const Change& change) { return change.collection + "/" + change.key.ToString(); }

/// A field of a body; empty if there is no such document.
std::string FieldOf(const std::optional<Record>& record, const char* field) {
  if (!record || !record->body) return {};
  return record->body.json().value(field, std::string());
}

/// 0: none.
std::int64_t SeatOf(const std::optional<Record>& record) {
  if (!record || !record->body) return 0;
  const auto seat = record->body.json().find("seat");
  return seat == record->body.json().end() || seat->is_null() ? 0 : seat->get<std::int64_t>();
}

std::int64_t VersionOf(const Record& record) { return record.lock.at("version"); }

bool IsDocument(const std::string& collection) { return collection == "entries"; }

}  // namespace

void Invariants::Break(const std::string& rule, const std::string& what) {
  story_.Tell("VIOLATION (" + rule + "): " + what);
  if (!violation_) violation_ = Violation{rule, what + ", at" + Story::TextOf(world_.now())};
}

int Invariants::BeginToken(int program, std::string what) {
  tokens_.emplace(++last_token_, Token{program, std::move(what)});
  return last_token_;
}

void Invariants::CompleteToken(int token) {
  const auto found = tokens_.find(token);
  if (found == tokens_.end()) return;  // of a program that was killed
  if (++found->second.completions > 1) {
    Break("each token completes once", found->second.what + " completed again");
  }
}

std::int64_t Invariants::FenceFloor(const std::string& lock) const {
  const auto found = fences_.find(lock);
  return found == fences_.end() ? 0 : found->second;
}

bool Invariants::IsReliable(const Claim& claim) const {
  return claim.process->clock().WasReliableSince(claim.asked) && claim.asked > last_leap_ &&
         claim.held();
}

bool Invariants::IsCertain(const Claim& claim) const {
  const auto ending = ending_.find(claim.lock);
  const bool ended = ending != ending_.end() &&
                     (ending->second.under_way > 0 || claim.asked <= ending->second.last);
  return !ended && IsReliable(claim);
}

Invariants::ClaimId Invariants::BeginClaim(Claim claim, std::int64_t fence_floor) {
  const std::string who = "program " + std::to_string(claim.program);
  if (!MayBeErased(claim.lock)) {
    if (claim.fence <= fence_floor) {
      Break("fences rise", who + " got " + claim.lock + " with fence " +
                               std::to_string(claim.fence) + " after another client had " +
                               std::to_string(fence_floor));
    }
    std::int64_t& highest = fences_[claim.lock];
    highest = std::max(highest, claim.fence);
  }
  if (IsCertain(claim)) {
    int shares = claim.mode == LockMode::kShared ? 1 : 0;
    for (const Claim& other : claims_) {
      if (other.lock != claim.lock || !IsCertain(other)) continue;
      if (other.mode == LockMode::kShared && claim.mode == LockMode::kShared) {
        if (++shares <= claim.limit) continue;
      }
      Break("at most one holder, or the limit",
            who + " got " + claim.lock + " with fence " + std::to_string(claim.fence) +
                " while program " + std::to_string(other.program) + " holds it with fence " +
                std::to_string(other.fence));
      break;
    }
  }
  return claims_.insert(claims_.end(), std::move(claim));
}

void Invariants::EndClaim(ClaimId claim) {
  claim->held = [] { return false; };
}

void Invariants::Kill(int program) {
  for (Claim& claim : claims_) {
    if (claim.program == program) claim.held = [] { return false; };
  }
  std::erase_if(tokens_, [&](const auto& token) { return token.second.program == program; });
}

std::map<std::string, std::int64_t> Invariants::HeldOf(const std::string& group) const {
  std::map<std::string, std::int64_t> held;
  for (const Claim& claim : claims_) {
    if (claim.group == group && claim.mode == LockMode::kExclusive && IsReliable(claim)) {
      held[claim.lock] = claim.fence;
    }
  }
  return held;
}

void Invariants::EndEnding(const std::string& lock) {
  Ending& ending = ending_[lock];
  --ending.under_way;
  ending.last = world_.now();
}

void Invariants::CheckEnded(const std::string& rule, const std::string& lock, std::int64_t fence) {
  const auto version = versions_.find(lock);
  if (version == versions_.end() || version->second > fence) return;
  Break(rule, lock + " is still held with fence " + std::to_string(fence));
}

void Invariants::EndWait(Queues::Call call, bool granted) {
  const std::size_t passed = queues_.End(call);
  if (!granted || passed == 0) return;
  Break("no waiter of a process is passed",
        "a caller got a lock before " + std::to_string(passed) + " that waited already");
}

void Invariants::OnGranted(int program, const std::string& lock, bool handed_over) {
  int& in_a_row = handovers_[{program, lock}];
  in_a_row = handed_over ? in_a_row + 1 : 0;
  if (in_a_row <= kMaxHandovers) return;
  Break("other processes get their turn", "program " + std::to_string(program) + " handed " + lock +
                                              " over " + std::to_string(in_a_row) +
                                              " times in a row");
}

std::string Invariants::NewWrite(const std::string& document, std::int64_t fence) {
  std::string name = "w" + std::to_string(++last_write_);
  writes_.emplace(name, Write{document, fence});
  return name;
}

void Invariants::Settle(const std::string& write, Fate fate) {
  Write& settled = writes_.at(write);
  settled.fate = fate;
  if (fate != Fate::kDone) return;
  Chain& chain = chains_[settled.document];
  const auto place = chain.places.find(write);
  if (place == chain.places.end()) {
    return Break("what is acknowledged is there",
                 "write " + write + " of " + settled.document + " was acknowledged");
  }
  chain.acknowledged = std::max(chain.acknowledged, place->second);
}

std::ptrdiff_t Invariants::ReadFloor(const std::string& document) const {
  const auto found = chains_.find(document);
  if (found == chains_.end()) return -1;
  return std::max(found->second.acknowledged, found->second.read);
}

void Invariants::CheckRead(const std::string& document, const std::optional<std::string>& write,
                           std::ptrdiff_t floor) {
  Chain& chain = chains_[document];
  if (!write) {
    const auto begin = chain.links.begin() + std::max<std::ptrdiff_t>(floor, 0);
    if (floor >= 0 && std::find(begin, chain.links.end(), "") == chain.links.end()) {
      Break("reads see what was acknowledged", document + " was not found");
    }
    return;
  }
  const auto place = chain.places.find(*write);
  if (place == chain.places.end()) {
    return Break("reads see what was written", document + " was read as of write " + *write);
  }
  if (place->second < floor) {
    const bool acknowledged = place->second < chain.acknowledged;
    Break(acknowledged ? "reads see what was acknowledged" : "reads never go back",
          document + " was read as of write " + *write + ", which a later one had replaced");
  }
  chain.read = std::max(chain.read, place->second);
  chain.seen.insert(*write);
}

void Invariants::CheckFound(const std::string& document, const std::string& write) {
  Chain& chain = chains_[document];
  if (!chain.places.contains(write)) {
    return Break("reads see what was written", document + " was found as of write " + write);
  }
  chain.seen.insert(write);
}

void Invariants::CheckSum(std::int64_t sum) {
  if (sum == 0) return;
  Break("a sum of several documents is kept", "it was read as " + std::to_string(sum));
}

std::optional<std::string> Invariants::LinkOf(const Change& change) {
  if (!IsDocument(change.collection)) return std::nullopt;
  if (!change.after) return std::string();
  std::string after = FieldOf(change.after, "write");
  if (change.before && FieldOf(change.before, "write") == after) return std::nullopt;
  return after;
}

void Invariants::OnChange(const Change& change) {
  CheckVersion(change);
  CheckSeat(change);
  if (const auto fault = store_queues_.FaultOf(change)) Break(fault->rule, fault->what);
  const auto link = LinkOf(change);
  if (!link) return;
  if (story_.told()) {
    story_.Tell("database: " + NameOf(change) +
                (link->empty() ? std::string(" is erased") : " is now as of write " + *link));
  }
  CheckLink(change, *link);
  Chain& chain = chains_[NameOf(change)];
  if (!link->empty()) chain.places[*link] = static_cast<std::ptrdiff_t>(chain.links.size());
  chain.links.push_back(*link);
}

void Invariants::CheckLink(const Change& change, const std::string& link) {
  if (link.empty()) return;
  const std::string document = NameOf(change);
  const std::string replaced = FieldOf(change.before, "write");
  if (FieldOf(change.after, "after") != replaced) {
    Break("a write replaces only what its writer saw",
          "write " + link + " of " + document + " replaced " + replaced + ", and had seen " +
              FieldOf(change.after, "after"));
  }
  if (chains_[document].places.contains(link)) {
    Break("each write happens once", "write " + link + " of " + document + " happened again");
  }
  const auto write = writes_.find(link);
  if (write == writes_.end() || write->second.fence == 0 || MayBeErased(document)) return;
  if (write->second.fence < FenceFloor(document)) {
    Break("no write of a holder that has a successor",
          "write " + link + " of " + document + " was made with fence " +
              std::to_string(write->second.fence) + ", and another client had " +
              std::to_string(FenceFloor(document)));
  }
}

void Invariants::CheckSeat(const Change& change) {
  if (!IsDocument(change.collection)) return;
  const std::string document = NameOf(change);
  const std::int64_t seat = SeatOf(change.after);
  seats_.erase(document);
  if (seat == 0) return;
  for (const auto& [other, taken] : seats_) {
    if (taken != seat) continue;
    Break("a unique index holds", document + " has the seat of " + other);
  }
  seats_[document] = seat;
}

void Invariants::CheckVersion(const Change& change) {
  if (change.after) versions_[NameOf(change)] = VersionOf(*change.after);
  if (!change.before || !change.after) return;
  const auto before = VersionOf(*change.before);
  const auto after = VersionOf(*change.after);
  const bool rises = LinkOf(change).has_value();
  if (rises ? after > before : after >= before) return;
  Break("versions rise", NameOf(change) + " went from version " + std::to_string(before) + " to " +
                             std::to_string(after));
}

void Invariants::OnFutile(const Change& change) {
  const auto link = LinkOf(change);
  if (!link || !story_.told()) return;
  story_.Tell("deposed primary: " + NameOf(change) +
              (link->empty() ? std::string(" is erased") : " is now as of write " + *link));
}

void Invariants::OnUndone(const Change& change) {
  if (change.before) versions_[NameOf(change)] = VersionOf(*change.before);
  if (IsDocument(change.collection)) {
    seats_.erase(NameOf(change));
    if (const std::int64_t seat = SeatOf(change.before); seat != 0) seats_[NameOf(change)] = seat;
  }
  const auto link = LinkOf(change);
  if (!link) return;
  story_.Tell("database: the last change of " + NameOf(change) + " is undone");
  Chain& chain = chains_[NameOf(change)];
  chain.places.erase(*link);
  chain.links.pop_back();
}

bool Invariants::IsThere(const std::string& write) const {
  const auto chain = chains_.find(writes_.at(write).document);
  return chain != chains_.end() && chain->second.places.contains(write);
}

void Invariants::CheckTogether() {
  for (const auto& writes : together_) {
    const auto there = [this](const std::string& write) { return IsThere(write); };
    if (std::all_of(writes.begin(), writes.end(), there)) continue;
    const auto found = std::find_if(writes.begin(), writes.end(), there);
    if (found == writes.end()) continue;
    Break("a transaction is stored as a whole", "of one with write " + *found + " another is gone");
  }
}

void Invariants::CheckTheEnd() {
  for (const auto& [number, token] : tokens_) {
    if (token.completions == 0) {
      Break("each token completes once", token.what + " never completed");
    }
  }
  CheckTogether();
  for (const auto& [name, write] : writes_) {
    const bool there = IsThere(name);
    if (write.fate == Fate::kDone && !there) {
      Break("what is acknowledged is there",
            "write " + name + " of " + write.document + " was acknowledged, and is gone");
    }
    if (write.fate == Fate::kRefused && there) {
      Break("what is refused is not there",
            "write " + name + " of " + write.document + " was refused, and happened");
    }
  }
  for (const auto& [document, chain] : chains_) {
    for (const std::string& write : chain.seen) {
      if (chain.places.contains(write)) continue;
      Break("reads see what was written",
            document + " was read as of write " + write + ", which is undone");
    }
  }
}

}  // namespace doclock::simulation
