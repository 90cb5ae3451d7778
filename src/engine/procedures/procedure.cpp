#include "engine/procedures/procedure.h"

#include <utility>

#include "engine/engine.h"

namespace doclock::detail {

namespace {

void Prepare(Engine& engine, StoreOp& op) noexcept {
  op.MakePending();
  op.queue_likely = engine.store_has_queue() && engine.met_queues().Knows(op.hash, engine.Now());
}

Batcher& BatcherFor(Engine& engine, const Procedure::Step& step) noexcept {
  return step.reads_apart ? engine.reads() : engine.batcher();
}

void Prepare(Engine& engine, const Procedure::Step& step) noexcept {
  if (step.op != nullptr) return Prepare(engine, *step.op);
  for (StoreOp* const op : step.commit->ops) Prepare(engine, *op);
}

}  // namespace

void Run(Engine& engine, Procedure& procedure) {
  try {
    for (auto step = procedure.Next(); !step.IsEnd(); step = procedure.Next()) {
      if (step.pause.count() > 0) engine.Pause(step.pause);
      Prepare(engine, step);
      step.op != nullptr ? BatcherFor(engine, step).Execute(*step.op)
                         : engine.batcher().Commit(*step.commit);
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
  AsyncRun(EnginePtr engine, std::shared_ptr<Procedure> procedure, std::function<void()> done)
      : engine_(std::move(engine)), procedure_(std::move(procedure)), done_(std::move(done)) {}

  void Start() {
    if (Advance()) return;
    Finish();
  }

 private:
  /// False: the procedure has finished.
  bool Advance() {
    const auto step = procedure_->Next();
    if (step.IsEnd()) return false;
    Prepare(*engine_, step);
    if (step.pause.count() == 0) {
      Submit(step);
    } else {
      engine_->After(step.pause, [self = shared_from_this(), step] {
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
      if (step.op != nullptr)
        return BatcherFor(*engine_, step).Submit(*step.op, std::move(advance));
      engine_->searching().Run([engine = engine_, commit = step.commit, advance] {
        engine->batcher().Commit(*commit);
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

  const EnginePtr engine_;
  const std::shared_ptr<Procedure> procedure_;
  std::function<void()> done_;
};

void RunAsync(const EnginePtr& engine, std::shared_ptr<Procedure> procedure,
              std::function<void()> done) {
  std::make_shared<AsyncRun>(engine, std::move(procedure), std::move(done))->Start();
}

}  // namespace doclock::detail
