#include "engine/procedures/procedure.h"

#include <utility>

#include "engine/engine.h"

namespace doclock::detail {

void Run(Engine& engine, Procedure& procedure) {
  for (auto step = procedure.Next(); step.op; step = procedure.Next()) {
    if (step.pause.count() > 0) engine.Pause(step.pause);
    step.op->status = OpStatus::kPending;
    step.op->detail.reset();
    engine.batcher().Execute(*step.op);
  }
}

void RunAsync(const EnginePtr& engine, std::shared_ptr<Procedure> procedure,
              std::function<void()> done) {
  const auto step = procedure->Next();
  if (!step.op) return done();
  step.op->status = OpStatus::kPending;
  step.op->detail.reset();
  const auto submit = [engine, procedure, done, op = step.op] {
    engine->batcher().Submit(*op, [engine, procedure, done] { RunAsync(engine, procedure, done); });
  };
  if (step.pause.count() == 0) {
    submit();
  } else {
    engine->After(step.pause, submit);
  }
}

FailurePtr MakeFailure(Errc code, std::string message) {
  auto failure = std::make_unique<Failure>();
  failure->code = code;
  failure->message = std::move(message);
  return failure;
}

namespace {

bool IsInsert(const StoreOp& op) {
  return op.kind == OpKind::kSave && static_cast<const SaveOp&>(op).save == SaveKind::kInsert;
}

/// Is the lock free, but kept closed by min_hold?
bool IsClosed(const StoreOp& op) {
  return op.status == OpStatus::kBusy && op.detail && !op.detail->message.empty();
}

std::string ForAnother(const StoreOp& op) {
  if (!op.detail->remaining) return {};
  const auto left = std::chrono::ceil<std::chrono::seconds>(*op.detail->remaining);
  return " for another " + std::to_string(left.count()) + " s";
}

}  // namespace

FailurePtr FailureOf(const StoreOp& op) {
  const std::string what = Describe(*op.collection, *op.key);
  auto failure = std::make_unique<Failure>();
  switch (op.status) {
    case OpStatus::kBusy:
      failure->code = Errc::kBusy;
      failure->message = what + (IsClosed(op) ? " is kept closed" + ForAnother(op) : " is locked");
      break;
    case OpStatus::kMissing:
      failure->code = Errc::kNotFound;
      failure->message = "there is no " + what;
      break;
    case OpStatus::kConflict:
      failure->code = Errc::kConflict;
      failure->message =
          what + (IsInsert(op) ? " exists already" : " was changed by another client");
      break;
    case OpStatus::kLost:
      failure->code = Errc::kLost;
      failure->message = "the lock of " + what + " is not held any more";
      break;
    case OpStatus::kInDoubt:
      failure->code = Errc::kInDoubt;
      failure->message = "the outcome of a write to " + what + " is unknown";
      break;
    default:
      failure->code = op.detail ? op.detail->code : Errc::kUnavailable;
      failure->message = what + " could not be used";
  }
  if (!op.detail) return failure;
  const OpDetail& detail = *op.detail;
  failure->holder = detail.holder;
  failure->remaining = detail.remaining;
  failure->found = detail.found_version;
  failure->index = detail.index;
  if (op.status == OpStatus::kBusy && !detail.holder.name.empty()) {
    failure->message += " by " + detail.holder.ToString();
  }
  if (op.status == OpStatus::kConflict && !detail.index.empty()) {
    failure->message = what + " was refused by the unique index '" + detail.index + "'";
  }
  if (!detail.message.empty() && !IsClosed(op)) failure->message += ": " + detail.message;
  return failure;
}

}  // namespace doclock::detail
