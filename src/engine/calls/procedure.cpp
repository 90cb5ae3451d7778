#include "engine/calls/procedure.h"

#include <utility>

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
  try {
    for (auto step = procedure.Next(); !step.IsEnd(); step = procedure.Next()) {
      if (step.pause.count() > 0) calls.Pause(step.pause);
      Prepare(calls, step);
      step.op != nullptr ? BatcherFor(calls, step).Execute(*step.op)
                         : calls.batcher().Commit(*step.commit);
      procedure.begun_ = true;
    }
  } catch (...) {
    if (!procedure.begun_) throw;
    procedure.Interrupt();
  }
}

/// One call of RunAsync.
class AsyncRun : public std::enable_shared_from_this<AsyncRun> {
 public:
  AsyncRun(std::shared_ptr<StoreCalls> calls, std::shared_ptr<Procedure> procedure,
           std::function<void()> done)
      : calls_(std::move(calls)), procedure_(std::move(procedure)), done_(std::move(done)) {}

  void Start() {
    if (Advance()) return;
    Finish();
  }

 private:
  /// Returns true if there is another step; false if the procedure has finished.
  bool Advance() {
    const auto step = procedure_->Next();
    if (step.IsEnd()) return false;
    Prepare(*calls_, step);
    if (step.pause.count() == 0) {
      Submit(step);
    } else {
      calls_->After(step.pause, [self = shared_from_this(), step] {
        self->Guarded([&] {
          self->Submit(step);
          return true;
        });
      });
    }
    return true;
  }
  void Submit(const Procedure::Step& step) {
    const bool begun = std::exchange(procedure_->begun_, true);  // it may be gone afterwards
    auto advance = [self = shared_from_this()] { self->Guarded([&] { return self->Advance(); }); };
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
  /// After the first operation nothing may throw.
  template <class Step>
  void Guarded(const Step& step) noexcept {
    try {
      if (step()) return;
    } catch (...) {
      procedure_->Interrupt();
    }
    Finish();
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

}  // namespace doclock::detail
