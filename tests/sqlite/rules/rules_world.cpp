#include "sqlite/rules/rules_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

using Kind = RulesStep::Kind;

OwnerPtr Somebody(int number) {
  LockHolder holder;
  holder.name = "holder " + std::to_string(number % 2);
  return std::make_shared<const LockHolder>(std::move(holder));
}

std::string At(TimePoint time) { return std::to_string(time.time_since_epoch() / 1ms); }

std::string DetailOf(const StoreOp& op) {
  std::ostringstream text;
  text << static_cast<int>(op.status);
  if (!op.detail || op.status == OpStatus::kDone) return text.str();
  text << " " << op.detail->holder.name << " " << op.detail->message;
  if (op.detail->remaining) text << " for " << op.detail->remaining->count();
  if (op.detail->found_version) text << " found " << *op.detail->found_version;
  return text.str();
}

std::string VersionOf(const StoreOp& op, std::int64_t version) {
  return op.status == OpStatus::kDone ? " v" + std::to_string(version) : "";
}

}  // namespace

RulesWorld::RulesWorld(std::shared_ptr<testing::ManualClock> clock) : clock_(std::move(clock)) {
  for (int i = 0; i < 2; ++i) clients_.push_back(std::make_unique<Client>(Opened()));
  connection_ = std::make_unique<sqlite::Connection>(file_, /*create=*/false);
  connection_->SetDeadline(sqlite::Deadline::max(), sqlite::Deadline::max());
  coordinator_ = sqlite::ProcessCoordinator::Open(file_, sqlite::DeadlineIn(10s));
  for (auto& evaluator : evaluators_) evaluator = NewEvaluator();
  for (const char* key : {"one", "two"}) client(0).Insert(key, R"({"same":1})");
}

std::unique_ptr<sqlite::LeaseEvaluator> RulesWorld::NewEvaluator() const {
  return std::make_unique<sqlite::LeaseEvaluator>(*coordinator_, sqlite::BootNumber());
}

void RulesWorld::Reopen() {
  clients_.back().reset();
  clients_.back() = std::make_unique<Client>(Opened());
  evaluators_.back() = NewEvaluator();
}

void RulesWorld::Reboot() {
  // No store that renewed a lock lives on.
  ForgetRenewedRows();
  // That boot was long.
  RawDatabase(file_).Run(
      "UPDATE doclock_c_things SET lock_boot=lock_boot+2, lock_time=lock_time+1000000000000,"
      " lock_closed=lock_closed+1000000000000;"
      "UPDATE doclock_l_things SET renewed=renewed+1000000000000;"
      "UPDATE doclock_r_things SET boot=boot+2, granted=granted+1000000000000,"
      " renewed=renewed+1000000000000;"
      "UPDATE doclock_q_things SET boot=boot+2, renewed=renewed+1000000000000,"
      " until=until+1000000000000");
}

void RulesWorld::ForgetRenewedRows() {
  for (const auto& client : clients_) {
    // A transaction that is rolled back.
    EXPECT_THROW(
        client->store().EnsureIndex(client->collection(), {.fields = {"same"}, .unique = true}),
        ConflictException);
  }
}

OptionalState RulesWorld::Look(const Key& key, int which) {
  OptionalState seen;
  for (int i = 0; i < 2; ++i) {
    // Each store notes when it first saw what it cannot compare.
    static_cast<void>(client(i).Read(key));
    const sqlite::StoreContext around{*clock_, *coordinator_,
                                      *evaluators_[static_cast<std::size_t>(i)], owners_};
    const auto document = sqlite::LockReader(*connection_, around).Find(collection_, key);
    if (i == which && document) seen = document->lock;
  }
  return seen;
}

void RulesCase::Begin(const RulesStep& step) {
  const bool attempt =
      step.kind < Kind::kShareAgain || step.kind == Kind::kHandOver || step.kind == Kind::kSteal;
  if (attempt) ids_.push_back(NewUuid());
  write_id_ = NewUuid();
}

Uuid RulesCase::IdOf(const RulesStep& step) const {
  if (ids_.empty()) return Uuid{};
  return *(ids_.rbegin() + step.who % static_cast<int>(std::min<std::size_t>(ids_.size(), 4)));
}

AcquireOp RulesCase::Acquire(const RulesStep& step, Collection& collection) const {
  AcquireOp op(collection, key_);
  const bool again = step.kind == Kind::kShareAgain || step.kind == Kind::kQueueAgain;
  op.grant.lock_id = again ? IdOf(step) : ids_.back();
  op.grant.ttl = step.ttl();
  op.grant.owner = Somebody(step.number);
  op.grant.detached = step.Bit(1);
  if (step.Bit(2)) op.grant.group = "group";
  if (step.number % 3 == 0) op.grant.min_hold = 15s;
  if (step.kind == Kind::kCreate || step.Bit(3)) op.insert = Body::FromText("{}");
  if (step.kind == Kind::kShare || step.kind == Kind::kShareAgain) {
    op.grant.mode = LockMode::kShared;
    op.grant.max_holders = 1 + step.number / 16;
    if (step.Bit(0)) op.grant.queue_for = 9s;
  }
  if (step.kind == Kind::kQueue || step.kind == Kind::kQueueAgain) {
    op.grant.queue_for = step.Bit(4) ? 3s : 15s;
  }
  return op;
}

RenewOp RulesCase::Renew(const RulesStep& step, Collection& collection) const {
  RenewOp op(collection, key_);
  op.lock_id = IdOf(step);
  op.ttl = step.ttl();
  op.detached = step.number % 11 == 0;
  op.keep_process = step.number % 13 == 0;
  if (step.kind == Kind::kRenewShare) op.mode = LockMode::kShared;
  return op;
}

WriteOp RulesCase::Write(const RulesStep& step, Collection& collection,
                         const OptionalState& state) {
  WriteOp op(collection, key_);
  op.lock_id = IdOf(step);
  if (step.kind == Kind::kReleaseShare || step.kind == Kind::kNoteShare) {
    op.mode = LockMode::kShared;
    op.merge = step.kind == Kind::kNoteShare;
    if (op.merge) op.body = Body::FromText(R"({"note":1})");
    return op;
  }
  if (step.kind == Kind::kLeave) {
    op.write = WriteKind::kLeave;
    return op;
  }
  if (step.Bit(0)) op.body = Body::FromText("{}");
  if (state && step.kind != Kind::kReleaseByValue) op.expected = state->version;
  if (step.number % 9 == 0 && op.expected > 0) --op.expected;
  op.ttl = step.ttl();
  if (step.kind == Kind::kCheckpoint) op.write = WriteKind::kCheckpoint;
  if (step.kind == Kind::kErase) op.write = WriteKind::kErase;
  if (step.kind == Kind::kHandOver) {
    op.lock_id = *(ids_.rbegin() + (ids_.size() > 1 ? 1 : 0));
    next_ = {};
    next_.lock_id = ids_.back();
    next_.ttl = step.ttl();
    next_.owner = Somebody(step.number);
    next_.detached = step.Bit(1);
    if (step.Bit(2)) next_.group = "group";
    if (step.Bit(3)) next_.entry = IdOf(step);
    op.next = &next_;
  }
  return op;
}

WriteOp RulesCase::Intervene(const RulesStep& step, Collection& collection,
                             const OptionalState& state) {
  WriteOp op(collection, key_);
  op.release_id = write_id_;  // the holder does not take it for its own release
  if (!state) return op;
  if (state->IsShared()) {
    op.mode = LockMode::kShared;
    op.lock_id = IdOf(step);
    return op;
  }
  op.lock_id = state->lock_id;
  if (step.kind == Kind::kExpire) {
    op.write = WriteKind::kCheckpoint;
    op.expected = state->version;
    op.fence = state->fence;
  }
  if (step.kind == Kind::kSteal) {
    next_ = {};
    next_.lock_id = ids_.back();
    next_.ttl = step.ttl();
    next_.owner = Somebody(step.number);
    next_.detached = true;
    op.next = &next_;
  }
  return op;
}

SaveOp RulesCase::Save(const RulesStep& step, Collection& collection,
                       const OptionalState& state) const {
  SaveOp op(collection, key_);
  op.write_id = write_id_;
  op.body = Body::FromText("{}");
  op.save = step.kind == Kind::kInsert ? SaveKind::kInsert : SaveKind::kReplace;
  if (step.kind == Kind::kSaveErase) op.save = SaveKind::kErase;
  op.expected = state ? state->version : 1;
  if (state) op.born = state->born;
  if (step.number % 9 == 0) ++op.expected;
  return op;
}

std::string RulesCase::NameOf(const Uuid& id) const {
  if (id.is_nil()) return "nobody";
  if (id == kSharedLockId) return "shares";
  if (id == write_id_) return "this write";
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  return found == ids_.end() ? "another" : std::to_string(found - ids_.begin());
}

std::string RulesCase::TextOf(const OptionalState& state, TimePoint now) const {
  if (!state) return "missing";
  std::ostringstream text;
  text << "v" << state->version << " of " << NameOf(state->lock_id) << " born "
       << NameOf(state->born) << " released " << NameOf(state->released);
  if (state->IsLive(now)) text << " until " << At(state->lease.End());
  if (state->HasLockId() && !state->IsShared()) {
    text << " by " << state->Holder().name << " fence " << state->fence;
  }
  if (state->IsClosed(now)) text << " closed until " << At(state->closed_until);
  std::vector<std::string> shares;
  for (const rules::Share& share : state->shares) {
    if (!share.lease.IsLive(now)) continue;  // counts for nothing
    shares.push_back(" share " + NameOf(share.id) + " until " + At(share.lease.End()) + " fence " +
                     std::to_string(share.fence) + share.group);
  }
  std::sort(shares.begin(), shares.end());
  for (const std::string& share : shares) text << share;
  for (const rules::QueueEntry& entry : state->queue) {
    if (!entry.IsLive(now)) continue;
    text << " waits " << NameOf(entry.id) << " until " << At(entry.until) << " for "
         << entry.ttl.count() << " min " << entry.min_hold.count() << entry.group
         << (entry.detached ? " detached" : "") << " by " << (entry.owner ? entry.owner->name : "");
    if (entry.mode == LockMode::kShared) text << " as one of " << entry.max_holders;
  }
  return text.str();
}

std::string Said(const AcquireOp& op) {
  std::string text = DetailOf(op) + VersionOf(op, op.version);
  if (op.status == OpStatus::kDone && op.created) text += " created";
  if (op.status == OpStatus::kDone && op.took_over) text += " took over";
  if (op.status == OpStatus::kDone && op.passed_on) text += " passed on";
  if (op.status == OpStatus::kBusy) {
    text += (op.queued ? " queued behind " : " behind ") + std::to_string(op.ahead.value_or(-1));
  }
  return text;
}

std::string Said(const RenewOp& op) { return DetailOf(op); }

std::string Said(const WriteOp& op) { return DetailOf(op) + VersionOf(op, op.version); }

std::string Said(const SaveOp& op) { return DetailOf(op) + VersionOf(op, op.version); }

}  // namespace doclock::sqlite_test
