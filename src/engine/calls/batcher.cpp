#include "engine/calls/batcher.h"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace doclock::detail {
namespace {

/// The most operations of one batch, even if the store allows more.
constexpr std::size_t kMaxBatch = 128;

/// In which line an operation stands, behind the others on its document.
std::size_t LineOf(const StoreOp& op) noexcept {
  return op.hash ^ std::hash<std::string_view>()(op.collection->name());
}

void CompleteUnanswered(StoreOp& op, const char* why) noexcept {
  if (op.status == OpStatus::kPending) op.Doubt(why);
  // A read changes nothing, so it is never in doubt.
  if (op.kind != OpKind::kRead || op.status != OpStatus::kInDoubt) return;
  op.status = OpStatus::kFailed;
  if (op.detail) op.detail->code = Errc::kUnavailable;
}

bool HasNoAnswer(const StoreOp* op) noexcept {
  return op->status == OpStatus::kInDoubt ||
         (op->status == OpStatus::kFailed &&
          (!op->detail || op->detail->code == Errc::kUnavailable));
}

void FailUnsent(StoreOp& op, const char* why) noexcept { op.Fail(Errc::kUnavailable, why); }

/// Reads wait for no row.
void AskToLeave(StoreOp& op) noexcept {
  op.if_kept = op.kind == OpKind::kRead ? IfKept::kWait : IfKept::kLeave;
}

/// Why there is no answer after `call`.
template <class Call>
const char* WhyThrown(const Call& call, std::string& text) noexcept {
  const char* why = "the store gave no answer";
  try {
    call();
  } catch (const std::exception& e) {
    text = std::string("the store failed: ") + e.what();
    why = text.c_str();
  } catch (...) {
    why = "the store failed";
  }
  return why;
}

}  // namespace

Batcher::Batcher(std::shared_ptr<Store> store, Runtime& runtime, std::chrono::milliseconds budget,
                 int lanes)
    : store_(std::move(store)),
      runtime_(runtime),
      budget_(budget),
      traits_(store_->traits()),
      free_lanes_(lanes > 0 ? lanes : traits_.lanes),
      op_lanes_(std::max(1, free_lanes_ - 1)) {}

void Batcher::Call(std::span<StoreOp* const> ops, std::chrono::nanoseconds budget) noexcept {
  const auto time = std::chrono::ceil<std::chrono::milliseconds>(budget);
  std::string text;
  const char* const why = WhyThrown([&] { store_->Execute(ops, time); }, text);
  for (StoreOp* op : ops) CompleteUnanswered(*op, why);
}

void Batcher::Run(std::span<StoreOp* const> ops) noexcept {
  Call(ops, budget_);
  const bool silent = std::ranges::all_of(ops, HasNoAnswer);
  silent_.store(silent ? runtime_.Now() : TimePoint::min(), std::memory_order_relaxed);
}

bool Batcher::IsBehindSilence(const Pending& pending) const noexcept {
  const TimePoint silent = silent_.load(std::memory_order_relaxed);
  return silent != TimePoint::min() && silent - pending.queued >= budget_ / 2;
}

void Batcher::Pending::Complete() {
  if (event) return event->Set();
  const std::unique_ptr<Pending> self(this);
  done();
}

void Batcher::Execute(StoreOp& op) {
  StoreOp* const one[] = {&op};
  if (traits_.immediate) return Run(one);
  AskToLeave(op);
  for (int looks = 0;;) {
    const bool alone = ExecuteInLane(op, looks);
    if (op.status != OpStatus::kKept) return;
    if (alone || looks >= kLooks) return AwaitKept(op);
    op.MakePending();
  }
}

bool Batcher::ExecuteInLane(StoreOp& op, int& looks) {
  StoreOp* const one[] = {&op};
  std::unique_lock lock(mutex_);
  if (free_lanes_ > 0 && op_lanes_ > 0 && Idle()) {
    --free_lanes_;
    --op_lanes_;
    lock.unlock();
    Run(one);
    ReleaseLane(true);
    return true;
  }
  lock.unlock();
  const auto event = runtime_.MakeEvent();
  Pending self;
  self.op = &op;
  self.event = event.get();
  self.looks = looks;
  Enqueue(self);
  Await(self);
  if (!self.promoted) return false;
  lock.lock();
  Pendings batch = TakeBatch(&self);
  lock.unlock();
  const bool alone = batch.size() == 1;
  Lead(std::move(batch));
  looks = self.looks + 1;
  return alone;
}

void Batcher::AwaitKept(StoreOp& op) {
  const auto event = runtime_.MakeEvent();
  Pending self;
  self.op = &op;
  self.event = event.get();
  Pendings one;
  one.push_back(self);
  StartForKept(TakeOutKept(one));
  Await(self);
}

void Batcher::Await(Pending& pending) {
  try {
    pending.event->Wait();
  } catch (...) {
    Withdraw(pending);  // a virtual runtime found that no thread will ever execute it
    throw;
  }
}

int Batcher::TakeOutKept(Pendings& batch) noexcept {
  const auto is_kept = [](const Pending& pending) {
    return pending.op && pending.op->status == OpStatus::kKept && !pending.promoted;
  };
  if (std::none_of(batch.begin(), batch.end(), is_kept)) return 0;
  const TimePoint now = runtime_.Now();
  const bool alone = batch.size() == 1;
  int count = 0;
  const std::scoped_lock lock(mutex_);
  for (auto it = batch.begin(); it != batch.end();) {
    Pending& pending = *it++;
    if (!is_kept(pending)) continue;
    batch.erase(batch.iterator_to(pending));
    if (!alone && ++pending.looks < kLooks) {
      Insert(pending);
      pending.op->MakePending();
      pending.taken = false;
      continue;
    }
    pending.queued = now;
    pending.kept = true;
    Pendings& list = ListOfKept(*pending.op);
    const auto comes_behind = [&](const Pending& other) {
      return pending.op->kind == OpKind::kWrite && other.op->kind != OpKind::kWrite;
    };
    list.insert(std::ranges::find_if(list, comes_behind), pending);
    ++count;
  }
  const int workers = std::min(count, kKeptAtOnce - kept_workers_);
  kept_workers_ += workers;
  return workers;
}

void Batcher::StartForKept(int workers) noexcept {
  for (; workers > 0; --workers) {
    runtime_.Work([self = shared_from_this()] { self->ExecuteKept(); });
  }
}

void Batcher::ExecuteKept() noexcept {
  Pending* const pending = TakeKept();
  if (!pending) return;
  StoreOp& op = *pending->op;
  StoreOp* const one[] = {&op};
  const bool is_long = op.kind != OpKind::kAcquire;
  op.if_kept = is_long ? IfKept::kWait : IfKept::kWaitShortly;
  const auto waited = runtime_.Now() - pending->queued;
  if (waited < budget_ / 2) {
    op.MakePending();
    Call(one, budget_ - waited);
  } else {
    FailUnsent(op, "another client's transaction keeps the document, and others too");
  }
  StartForKept(PassOnKept(is_long));
  pending->Complete();  // which may take long
}

Batcher::Pending* Batcher::TakeKept() noexcept {
  const std::scoped_lock lock(mutex_);
  Pendings* const list = NextKept();
  if (!list) {
    --kept_workers_;
    return nullptr;
  }
  if (list == &kept_) ++long_waits_;
  Pending& next = list->front();
  list->pop_front();
  next.kept = false;
  next.taken = true;
  return &next;
}

int Batcher::PassOnKept(bool was_long) noexcept {
  const std::scoped_lock lock(mutex_);
  if (was_long) --long_waits_;
  if (NextKept()) return 1;
  --kept_workers_;
  return 0;
}

Batcher::Pendings* Batcher::NextKept() noexcept {
  if (!kept_.empty() && long_waits_ < kKeptAtOnce - 1) return &kept_;
  return kept_wanted_.empty() ? nullptr : &kept_wanted_;
}

void Batcher::Commit(CommitOp& commit) noexcept {
  bool answered = false;
  std::string text;
  const auto call = [&] {
    store_->Commit(commit, budget_);
    answered = true;
  };
  const char* const why = WhyThrown(call, text);
  if (answered) return;
  for (StoreOp* const op : commit.ops) {
    op->status = OpStatus::kPending;
    CompleteUnanswered(*op, why);
  }
}

void Batcher::Submit(StoreOp& op, std::function<void()> done) {
  AskToLeave(op);
  auto pending = std::make_unique<Pending>();
  pending->op = &op;
  pending->done = std::move(done);
  Submit(std::move(pending));
}

void Batcher::SubmitRenewals(std::vector<StoreOp*> ops, std::function<void()> done) {
  auto pending = std::make_unique<Pending>();
  pending->renewals = std::move(ops);
  pending->done = std::move(done);
  Submit(std::move(pending));
}

void Batcher::Submit(std::unique_ptr<Pending> pending) {
  Enqueue(*pending);
  static_cast<void>(pending.release());  // Complete deletes it
}

void Batcher::Enqueue(Pending& pending) {
  pending.queued = runtime_.Now();
  {
    const std::scoped_lock lock(mutex_);
    Insert(pending);
    if (free_lanes_ == 0 || !Ready()) return;
    --free_lanes_;
    ++coming_;
  }
  StartWorker();
}

void Batcher::Insert(Pending& pending) {
  if (!pending.op) return renewals_.push_back(pending);
  const auto [line, alone] = last_.try_emplace(LineOf(*pending.op), &pending);
  if (alone) return queue_.push_back(pending);
  line->second->behind = &pending;
  line->second = &pending;
}

void Batcher::NextInLine(Pending& pending) noexcept {
  if (!pending.op) return;
  if (pending.behind) {
    queue_.push_back(*std::exchange(pending.behind, nullptr));
  } else {
    last_.erase(LineOf(*pending.op));
  }
}

void Batcher::Withdraw(Pending& pending) noexcept {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(pending.kept, false)) {
    Pendings& list = ListOfKept(*pending.op);
    list.erase(list.iterator_to(pending));
    return;
  }
  if (pending.taken) return;
  if (pending.is_linked()) {
    queue_.erase(queue_.iterator_to(pending));
    NextInLine(pending);
    return;
  }
  // It stands behind another one, which is in the queue or was promoted to lead: its caller does
  // this only while no other thread is about.
  for (Pending& before : queue_) {
    if (LineOf(*before.op) != LineOf(*pending.op)) continue;
    Pending* last = &before;
    while (last->behind != &pending) last = last->behind;
    last->behind = pending.behind;
    if (!pending.behind) last_[LineOf(*pending.op)] = last;
    return;
  }
}

Batcher::Pendings Batcher::TakeBatch(Pending* first) noexcept {
  Pendings batch;
  if (first) {
    batch.push_back(*first);
  } else if (!renewals_.empty()) {
    batch.splice(batch.end(), renewals_, renewals_.begin());
    batch.front().taken = true;
    return batch;
  }
  if (!first) --op_lanes_;  // a promoted caller has it
  const std::size_t room = std::min(traits_.max_batch, kMaxBatch);
  // Workers that come take one each: operations side by side end sooner than in one batch.
  const auto left = static_cast<std::size_t>(std::min(coming_, op_lanes_));
  while (batch.size() < room && !queue_.empty() && (batch.empty() || queue_.size() > left)) {
    batch.splice(batch.end(), queue_, queue_.begin());
  }
  for (Pending& pending : batch) {
    pending.taken = true;
    NextInLine(pending);
  }
  return batch;
}

void Batcher::Lead(Pendings batch) {
  const bool of_ops = batch.front().op != nullptr;
  Run(batch);
  const int workers = TakeOutKept(batch);
  // Callers that wait are woken before the lane is passed on: what they do next then comes into
  // the next batch, which is larger for it (a quarter, with 32 callers). A promoted caller is the
  // leader itself: it needs no waking and its event is spent.
  batch.remove_and_dispose_if([](const Pending& pending) { return pending.event != nullptr; },
                              [](Pending* pending) {
                                if (!pending->promoted) pending->Complete();
                              });
  ReleaseLane(of_ops);
  StartForKept(workers);
  // Continuations may take long, and may use the lane themselves.
  batch.clear_and_dispose([](Pending* pending) { pending->Complete(); });
}

void Batcher::Run(const Pendings& batch) noexcept {
  if (!batch.front().op) return Run(batch.front().renewals);
  std::array<StoreOp*, kMaxBatch> ops{};
  std::size_t count = 0;
  for (const Pending& pending : batch) {
    if (IsBehindSilence(pending)) {
      FailUnsent(*pending.op, "the store gave no answer to the call before");
    } else {
      ops[count++] = pending.op;
    }
  }
  if (count > 0) Run(std::span(ops).first(count));
}

void Batcher::ReleaseLane(bool of_ops) noexcept {
  std::unique_lock lock(mutex_);
  if (of_ops) ++op_lanes_;
  if (!Ready()) {
    ++free_lanes_;
    return;
  }
  if (renewals_.empty() && queue_.front().event) {
    Pending& next = queue_.front();
    queue_.pop_front();
    next.taken = next.promoted = true;
    --op_lanes_;
    next.event->Set();
    return;
  }
  ++coming_;
  lock.unlock();
  StartWorker();
}

void Batcher::LeadOnWorker() {
  Pendings batch;
  {
    const std::scoped_lock lock(mutex_);
    --coming_;
    if (!Ready()) {
      ++free_lanes_;
      return;
    }
    batch = TakeBatch(nullptr);
  }
  Lead(std::move(batch));
}

void Batcher::StartWorker() noexcept {
  runtime_.Work([self = shared_from_this()] { self->LeadOnWorker(); });
}

}  // namespace doclock::detail
