#include "engine/procedures/procedure.h"

#include <utility>

#include "engine/engine.h"
#include "engine/holder_text.h"

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

namespace {

bool IsInsert(const StoreOp& op) {
  return op.kind == OpKind::kSave && static_cast<const SaveOp&>(op).save == SaveKind::kInsert;
}

/// Is the lock free, but kept closed by min_hold?
bool IsClosed(const StoreOp& op) {
  return op.status == OpStatus::kBusy && op.detail && op.detail->kept_closed;
}

std::string ForAnother(const StoreOp& op) {
  if (!op.detail->remaining) return {};
  const auto left = std::chrono::ceil<std::chrono::seconds>(*op.detail->remaining);
  return " for another " + std::to_string(left.count()) + " s";
}

Errc CodeOf(const StoreOp& op) noexcept {
  switch (op.status) {
    case OpStatus::kBusy:
      return Errc::kBusy;
    case OpStatus::kMissing:
      return Errc::kNotFound;
    case OpStatus::kConflict:
      return Errc::kConflict;
    case OpStatus::kLost:
      return Errc::kLost;
    case OpStatus::kInDoubt:
      return Errc::kInDoubt;
    default:
      return op.detail ? op.detail->code : Errc::kUnavailable;
  }
}

std::string TextOf(const StoreOp& op) {
  const std::string what = Describe(*op.collection, *op.key);
  switch (op.status) {
    case OpStatus::kBusy:
      return what + (IsClosed(op) ? " is kept closed" + ForAnother(op) : " is locked");
    case OpStatus::kMissing:
      return "there is no " + what;
    case OpStatus::kConflict:
      return what + (IsInsert(op) ? " exists already" : " was changed by another client");
    case OpStatus::kLost:
      return "the lock of " + what + " is not held any more";
    case OpStatus::kInDoubt:
      return "the outcome of a write to " + what + " is unknown";
    default:
      return what + " could not be used";
  }
}

void Fill(Failure& failure, const StoreOp& op) {
  failure.message = TextOf(op);
  failure.document = NameOf(*op.collection, *op.key);
  if (!op.detail) return;
  const OpDetail& detail = *op.detail;
  failure.kept_closed = IsClosed(op);
  failure.holder = detail.holder;
  failure.remaining = detail.remaining;
  failure.found = detail.found_version;
  failure.index = detail.index;
  if (op.status == OpStatus::kBusy && !detail.holder.name.empty()) {
    failure.message += " by " + HolderText(detail.holder);
  }
  if (op.status == OpStatus::kConflict && !detail.index.empty()) {
    failure.message = Describe(*op.collection, *op.key) + " was refused by the unique index '" +
                      detail.index + "'";
  }
  if (!detail.message.empty()) failure.message += ": " + detail.message;
}

}  // namespace

FailurePtr FailureOf(const StoreOp& op) noexcept {
  return FilledFailure(CodeOf(op), [&](Failure& failure) { Fill(failure, op); });
}

}  // namespace doclock::detail
