#include "player.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "doclock/errors.h"

namespace doclock::conformance {
namespace {

/// Rounded up: what a real server's clock went on meanwhile does not show.
int InTicks(std::chrono::milliseconds left) {
  return static_cast<int>((left + kTick - 1ms) / kTick);
}

std::string TextOf(const StoreOp& op) {
  if (op.status == OpStatus::kBusy) {
    if (!op.detail || !op.detail->remaining) return "busy for an unknown time";
    return BusyText(InTicks(*op.detail->remaining));
  }
  if (op.status == OpStatus::kFailed && DetailOf(op).code == Errc::kRefused) return kRefused;
  if (op.status == OpStatus::kFailed && DetailOf(op).code == Errc::kMalformed) return kMalformed;
  if (op.status == OpStatus::kConflict && op.detail && !op.detail->index.empty()) {
    return ConflictText(op.detail->index);
  }
  std::ostringstream text;
  PrintTo(op.status, &text);
  if (op.status == OpStatus::kFailed || op.status == OpStatus::kInDoubt) {
    text << " (" << DetailOf(op).message << ")";
  }
  return text.str();
}

/// The result of an operation that was done.
struct Outcome {
  std::string operator()(const AcquireOp& op) const {
    return conformance::TextOf(
        Granted{op.result.created, op.result.took_over, op.result.version, op.result.body.json()});
  }
  std::string operator()(const RenewOp&) const { return kDone; }
  std::string operator()(const WriteOp& op) const {
    return op.request.write == WriteKind::kErase ? kDone : WrittenText(op.result.version);
  }
  std::string operator()(const SaveOp& op) const {
    return op.request.save == SaveKind::kErase ? kDone : WrittenText(op.result.version);
  }
  std::string operator()(const ReadOp& op) const {
    return RowText(op.result.version, op.result.locked, op.result.body.json());
  }
};

}  // namespace

Player::Player(Client client, StoreTime clock, std::vector<Key> keys, Foreigners foreigners)
    : client_(std::move(client)),
      clock_(std::move(clock)),
      keys_(std::move(keys)),
      foreigners_(std::move(foreigners)) {}

Lines Player::Play(const Turn& turn) {
  const Lines said = IsExecuted(turn.front().kind) ? Execute(turn) : Lines{Do(turn.front())};
  Lines lines;
  for (std::size_t i = 0; i < turn.size(); ++i) {
    lines.push_back(LineOf(turn[i], said[i], Look(turn[i].key)));
  }
  return lines;
}

std::string Player::ResultOf(const Call& call, const StoreOp& op) {
  return op.status == OpStatus::kDone ? std::visit(Outcome(), call.op) : TextOf(op);
}

Lines Player::Execute(const Turn& turn) {
  std::vector<std::vector<Call>> calls;
  for (const Step& step : turn) calls.push_back(CallsOf(step));
  std::vector<StoreOp*> batch;
  for (std::vector<Call>& of_step : calls) {
    for (Call& call : of_step) batch.push_back(&call.store_op());
  }
  client_.Execute(batch);
  Lines said;
  std::size_t next = 0;
  for (const std::vector<Call>& of_step : calls) {
    Lines results;
    for (const Call& call : of_step) results.push_back(ResultOf(call, *batch[next++]));
    said.push_back(Joined(results));
  }
  return said;
}

std::string Player::Do(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kNext:
      return AcquireNext(step, {});
    case Step::Kind::kSearchNext:
      return AcquireNext(step, SearchOf(step));
    case Step::Kind::kQuery:
      return Query(SearchOf(step));
    case Step::Kind::kIndex:
      return EnsureIndex({.fields = {"due"}});
    case Step::Kind::kUniqueIndex:
      return EnsureIndex({.fields = {kUniqueField}, .unique = true});
    case Step::Kind::kExpire:
    case Step::Kind::kBreak:
    case Step::Kind::kSteal:
      return Intervene(step);
    case Step::Kind::kPurge:
      return std::to_string(client_.Purge());
    case Step::Kind::kSpoil:
      return Spoil(step);
    case Step::Kind::kPlant:
      return Plant(step);
    case Step::Kind::kCommit:
      return Commit(step);
    default:
      clock_.Advance(step.pause() * kTick);
      return kDone;
  }
}

std::string Player::Commit(const Step& step) {
  std::vector<Step> parts;
  std::vector<Call> calls;
  for (int i = 0; i < step.parts(); ++i) {
    const Seen seen = LookForCommit(KeyOfPart(step, i));
    parts.push_back(PartOf(step, i, seen, attempts_));
    calls.push_back(std::move(CallsOf(parts.back()).front()));
  }
  std::vector<StoreOp*> ops;
  for (Call& call : calls) ops.push_back(&call.store_op());
  CommitOp commit{.ops = ops};
  client_.Commit(commit);
  Lines said;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i]->status == OpStatus::kPending) continue;
    said.push_back(PartText(parts[i], ResultOf(calls[i], *ops[i])));
  }
  for (const Step& part : parts) said.push_back(Look(part.key));
  return Joined(said);
}

Seen Player::LookForCommit(int key) {
  const ReadOp read = client_.Read(KeyOf(key));
  return {read.status != OpStatus::kMissing, read.result.locked, HolderOf(read.result.lock_id)};
}

std::string Player::Look(int key) {
  const ReadOp read = client_.Read(KeyOf(key));
  if (read.status != OpStatus::kDone) return TextOf(read);
  Picture picture;
  picture.version = read.result.version;
  picture.holder = HolderOf(read.result.lock_id);
  picture.left = read.result.locked ? InTicks(read.result.remaining) : 0;
  picture.body = read.result.body.json();
  if (picture.holder == kShared) {
    for (const LockRow& row : client_.Locks({.key = KeyOf(key)})) {
      if (row.live) picture.shares[HolderOf(row.lock_id)] = InTicks(row.left);
    }
  }
  return conformance::TextOf(picture);
}

Lines Player::LookAtAll() {
  std::map<Key, Listed> listed;
  for (const LockRow& row : client_.Locks({.unheld = true})) {
    Listed& of_key = listed[row.key];
    of_key.live += row.live ? 1 : 0;
    of_key.closed = row.closed;
    of_key.has_body = row.has_body;
  }
  std::map<Key, std::string> found;
  for (const QueryRow& row : client_.Rows(Filter())) {
    found[row.key] = RowText(row.version, row.locked, row.body.json());
  }
  Lines lines;
  for (int key = 0; key < static_cast<int>(keys_.size()); ++key) {
    std::string line = std::to_string(key) + ": " + Look(key);
    if (spoilt_.count(KeyOf(key)) == 0) {
      const auto row = listed.find(KeyOf(key));
      if (row != listed.end()) line += "; " + conformance::TextOf(row->second);
      const auto document = found.find(KeyOf(key));
      if (document != found.end()) line += "; " + document->second;
    }
    lines.push_back(line);
  }
  return lines;
}

int Player::PlaceOf(const Key& key) const {
  return static_cast<int>(std::find(keys_.begin(), keys_.end(), key) - keys_.begin());
}

Uuid Player::NewAttempt(const Step& step) {
  attempts_.Add(step.key);
  return ids_.emplace_back(FreshId());
}

Uuid Player::IdOfAttempt(int attempt) const {
  return attempt == 0 ? Uuid{} : ids_[static_cast<std::size_t>(attempt - 1)];
}

int Player::HolderOf(const Uuid& id) const {
  if (id.is_nil()) return kNobody;
  if (id == kSharedLockId) return kShared;
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  return found == ids_.end() ? kStranger : static_cast<int>(found - ids_.begin()) + 1;
}

std::string Player::AcquireNext(const Step& step, const Search& search) {
  const Client::Next next = client_.AcquireNext(FilterOf(search));
  const bool done = next.status == OpStatus::kDone;
  const int key = done ? PlaceOf(next.key) : step.key;
  attempts_.Add(key);
  ids_.push_back(next.id);
  if (!done) return TextOf(next.op);
  return NextText(key, Granted{next.op.result.created, next.op.result.took_over,
                               next.op.result.version, next.op.result.body.json()});
}

std::string Player::Query(const Search& search) {
  Lines rows;
  for (const QueryRow& row : client_.Rows(FilterOf(search))) {
    if (spoilt_.count(row.key) != 0) continue;
    rows.push_back(std::to_string(PlaceOf(row.key)) + " " +
                   RowText(row.version, row.locked, row.body.json()));
  }
  return Joined(rows);
}

std::string Player::EnsureIndex(const IndexSpec& index) {
  try {
    client_.EnsureIndex(index);
    return kDone;
  } catch (const ConflictException&) {
    return kConflict;
  }
}

std::string Player::Intervene(const Step& step) {
  const Key& key = KeyOf(step.key);
  try {
    if (step.kind == Step::Kind::kExpire) client_.Expire(key);
    if (step.kind == Step::Kind::kBreak) client_.Break(key);
    if (step.kind == Step::Kind::kSteal) client_.Steal(key);
    return kDone;
  } catch (const Error& error) {
    switch (error.errc()) {
      case Errc::kNotFound:
        return kMissing;
      case Errc::kMalformed:
        return kMalformed;
      case Errc::kNotOwner:
        return kNotHeld;
      case Errc::kBusy:
        return kClosed;
      default:
        return error.what();
    }
  }
}

std::string Player::Spoil(const Step& step) {
  const Key& key = KeyOf(step.key);
  if (client_.Read(key).status == OpStatus::kMissing) return kMissing;
  foreigners_.spoil(key);
  spoilt_.insert(key);
  return kDone;
}

std::string Player::Plant(const Step& step) {
  const ReadOp read = client_.Read(KeyOf(step.key));
  if (read.status == OpStatus::kDone) return kThereAlready;
  if (read.status != OpStatus::kMissing) return TextOf(read);
  foreigners_.plant(KeyOf(step.key), MakeBody({{"value", step.number}}));
  return kDone;
}

}  // namespace doclock::conformance
