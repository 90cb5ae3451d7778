#include "engine/batcher.h"

#include <array>
#include <bitset>
#include <exception>
#include <utility>

namespace doclock::detail {

/// An operation (or a ready-made batch of them) in the queue. One with an event belongs to a
/// blocked caller and lives on its stack; one with a `done` lives on the heap.
struct Batcher::Pending {
  StoreOp* op = nullptr;
  std::vector<StoreOp*> batch;
  std::function<void()> done;
  Runtime::Event* event = nullptr;
  bool promoted = false;  ///< Woken to lead, not because the result is there.

  [[nodiscard]] std::size_t size() const { return op ? 1 : batch.size(); }
  /// Tells that the result is there. Deletes what lives on the heap.
  void Complete() {
    if (event) {
      event->Set();
      return;
    }
    const std::unique_ptr<Pending> self(this);
    done();
  }
};

namespace {

/// Documents already in a batch, by hash: equal hashes count as the same document.
class HashSet {
 public:
  bool Insert(std::size_t hash) {
    const std::size_t bit = hash % kBits;
    if (seen_[bit]) {
      for (const std::size_t h : hashes_) {
        if (h == hash) return false;
      }
    }
    seen_.set(bit);
    hashes_.push_back(hash);
    return true;
  }

 private:
  static constexpr std::size_t kBits = 1024;
  std::bitset<kBits> seen_;
  std::vector<std::size_t> hashes_;
};

void CompleteUnanswered(StoreOp& op, const char* why) {
  if (op.status == OpStatus::kPending) op.Doubt(why);
  // A read changes nothing, so there is nothing to doubt.
  if (op.kind == OpKind::kRead && op.status == OpStatus::kInDoubt) {
    op.Fail(Errc::kUnavailable, op.detail ? std::move(op.detail->message) : std::string(why));
  }
}

}  // namespace

Batcher::Batcher(std::shared_ptr<Store> store, Runtime& runtime, std::chrono::milliseconds budget)
    : store_(std::move(store)),
      runtime_(runtime),
      budget_(budget),
      traits_(store_->traits()),
      free_lanes_(traits_.lanes) {}

void Batcher::Run(std::span<StoreOp* const> ops) noexcept {
  const char* why = "the store gave no answer";
  std::string text;
  try {
    store_->Execute(ops, budget_);
  } catch (const std::exception& e) {
    text = std::string("the store failed: ") + e.what();
    why = text.c_str();
  } catch (...) {
    why = "the store failed";
  }
  for (StoreOp* op : ops) CompleteUnanswered(*op, why);
}

void Batcher::Execute(StoreOp& op) {
  StoreOp* const one[] = {&op};
  if (traits_.immediate) return Run(one);
  std::unique_lock lock(mutex_);
  if (traits_.inline_callers && free_lanes_ > 0 && queue_.empty()) {
    --free_lanes_;
    lock.unlock();
    Run(one);
    return PassOn();
  }
  lock.unlock();
  const auto event = runtime_.MakeEvent();
  Pending self{.op = &op, .batch = {}, .done = {}, .event = event.get()};
  Enqueue(&self);
  event->Wait();
  if (!self.promoted) return;
  lock.lock();
  Pendings batch = TakeBatch(&self);
  lock.unlock();
  Lead(std::move(batch));
}

void Batcher::Submit(StoreOp& op, std::function<void()> done) {
  Enqueue(new Pending{.op = &op, .batch = {}, .done = std::move(done)});
}

void Batcher::SubmitBatch(std::vector<StoreOp*> ops, std::function<void()> done) {
  Enqueue(new Pending{.op = nullptr, .batch = std::move(ops), .done = std::move(done)});
}

void Batcher::Enqueue(Pending* pending) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(pending);
    if (free_lanes_ == 0) return;
    --free_lanes_;
  }
  StartWorker();
}

Batcher::Pendings Batcher::TakeBatch(Pending* first) {
  Pendings batch;
  HashSet documents;
  if (first) {
    batch.push_back(first);
    documents.Insert(first->op->hash);
  }
  std::deque<Pending*> rest;
  while (!queue_.empty() && batch.size() < traits_.max_batch) {
    Pending* next = queue_.front();
    if (!next->op) {  // a ready-made batch travels alone
      if (!batch.empty()) break;
      queue_.pop_front();
      batch.push_back(next);
      break;
    }
    queue_.pop_front();
    if (documents.Insert(next->op->hash)) {
      batch.push_back(next);
    } else {
      rest.push_back(next);
    }
  }
  queue_.insert(queue_.begin(), rest.begin(), rest.end());
  return batch;
}

void Batcher::Lead(Pendings batch) {
  if (batch.size() == 1 && !batch.front()->op) {
    Run(batch.front()->batch);
  } else {
    std::vector<StoreOp*> ops;
    ops.reserve(batch.size());
    for (const Pending* pending : batch) ops.push_back(pending->op);
    Run(ops);
  }
  // Callers that wait are woken before the lane is passed on: what they do next then comes into the
  // next batch, which is larger for it (a quarter, with 32 callers). A promoted caller is the
  // leader itself: it needs no waking and its event is spent.
  std::erase_if(batch, [](Pending* pending) {
    if (!pending->event) return false;
    if (!pending->promoted) pending->Complete();
    return true;
  });
  PassOn();
  // Continuations may take as long as they like, and use the lane themselves.
  for (Pending* pending : batch) pending->Complete();
}

void Batcher::PassOn() {
  std::unique_lock lock(mutex_);
  if (queue_.empty()) {
    ++free_lanes_;
    return;
  }
  Pending* next = queue_.front();
  if (next->event && traits_.inline_callers) {
    queue_.pop_front();
    next->promoted = true;
    next->event->Set();
    return;
  }
  lock.unlock();
  StartWorker();
}

void Batcher::LeadOnWorker() {
  std::unique_lock lock(mutex_);
  Pendings batch = TakeBatch(nullptr);
  if (batch.empty()) {
    ++free_lanes_;
    return;
  }
  lock.unlock();
  Lead(std::move(batch));
}

void Batcher::StartWorker() {
  runtime_.Work([self = shared_from_this()] { self->LeadOnWorker(); });
}

}  // namespace doclock::detail
