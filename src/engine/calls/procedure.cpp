#include "engine/calls/procedure.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace doclock::detail {

namespace {

void Prepare(StoreCalls& calls, StoreOp& op) noexcept {
  op.MakePending();
  op.queue_likely = calls.store_has_queue() && calls.met_queues().Knows(op.hash, calls.Now());
}

Batcher& BatcherFor(StoreCalls& calls, const Procedure::Step& step) noexcept {
  return step.reads_apart ? calls.reads() : calls.batcher();
}

void Prepare(StoreCalls& calls, const Procedure::Step& step) noexcept {
  if (step.op != nullptr) return Prepare(calls, *step.op);
  for (StoreOp* const op : step.commit->ops) Prepare(calls, *op);
}

}  // namespace

void Run(StoreCalls& calls, Procedure& procedure) {
  const auto execute_next = [&] {
    const auto step = procedure.Next();
    if (step.IsEnd()) return false;
    if (step.pause.count() > 0) calls.Pause(step.pause);
    Prepare(calls, step);
    step.op != nullptr ? BatcherFor(calls, step).Execute(*step.op)
                       : calls.batcher().Commit(*step.commit);
    return procedure.begun_ = true;
  };
  const auto go_on = [&]() noexcept {
    while (execute_next()) {
    }
  };
  if (execute_next()) go_on();
}

/// One call of RunAsync.
class AsyncRun : public std::enable_shared_from_this<AsyncRun> {
 public:
  AsyncRun(std::shared_ptr<StoreCalls> calls, std::shared_ptr<Procedure> procedure,
           std::function<void()> done)
      : calls_(std::move(calls)), procedure_(std::move(procedure)), done_(std::move(done)) {}

  /// Throws only before the first operation.
  void Start() {
    const auto step = procedure_->Next();
    step.IsEnd() ? Finish() : Send(step);
  }
  /// Its first operation, of a call with others, was executed.
  void GoOn(const StoreOp& first) noexcept {
    procedure_->begun_ = true;
    first.status == OpStatus::kKept ? Finish() : Advance();
  }

 private:
  void Advance() noexcept { Start(); }
  void Send(const Procedure::Step& step) {
    Prepare(*calls_, step);
    if (step.pause.count() == 0) return Submit(step);
    calls_->After(step.pause, [self = shared_from_this(), step] { self->Submit(step); });
  }
  void Submit(const Procedure::Step& step) {
    const bool begun = std::exchange(procedure_->begun_, true);  // it may be gone afterwards
    auto advance = [self = shared_from_this()] { self->Advance(); };
    try {
      if (step.op != nullptr) return BatcherFor(*calls_, step).Submit(*step.op, std::move(advance));
      calls_->searching().Run([calls = calls_, commit = step.commit, advance] {
        calls->batcher().Commit(*commit);
        advance();
      });
    } catch (...) {
      procedure_->begun_ = begun;
      throw;
    }
  }
  void Finish() {
    const auto done = std::move(done_);
    done();
  }

  const std::shared_ptr<StoreCalls> calls_;
  const std::shared_ptr<Procedure> procedure_;
  std::function<void()> done_;
};

void RunAsync(StoreCalls& calls, std::shared_ptr<Procedure> procedure, std::function<void()> done) {
  std::make_shared<AsyncRun>(calls.shared_from_this(), std::move(procedure), std::move(done))
      ->Start();
}

void RunTogether(StoreCalls& calls, std::span<const std::shared_ptr<Procedure>> procedures,
                 const std::function<void(std::size_t)>& done) {
  std::vector<std::shared_ptr<AsyncRun>> runs;
  std::vector<StoreOp*> ops;
  for (const auto& procedure : procedures) {
    runs.push_back(std::make_shared<AsyncRun>(calls.shared_from_this(), procedure,
                                              [done, place = runs.size()] { done(place); }));
    ops.push_back(procedure->Next().op);
    Prepare(calls, *ops.back());
    ops.back()->if_kept = IfKept::kLeave;
  }
  calls.batcher().ExecuteApart(ops);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i]->GoOn(*ops[i]);
}

}  // namespace doclock::detail
