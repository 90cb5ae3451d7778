#include "engine/procedures/save_procedure.h"

#include <utility>

#include "engine/procedures/trace.h"

namespace doclock::detail {

SaveOp MakeSave(const SaveSpec& spec) {
  SaveOp save(*spec.collection, spec.key);
  save.save = spec.save;
  save.expected = spec.expected;
  save.born = spec.born;
  save.write_id = NewUuid();
  save.body = spec.body;
  save.base = spec.base;
  return save;
}

FailurePtr RefusalOf(const SaveOp& save) noexcept {
  FailurePtr failure = FailureOf(save);
  const bool may_change = !failure.get_deleter().lasting;
  if (may_change && failure->code == Errc::kConflict && save.expected != kAnyVersion) {
    failure->expected = save.expected;
  }
  return failure;
}

SaveProcedure::SaveProcedure(Engine& engine, SaveSpec spec)
    : engine_(engine),
      spec_(std::move(spec)),
      save_(MakeSave(spec_)),
      read_(*spec_.collection, spec_.key),
      give_up_(engine.Now() + engine.options().call_budget.ms()) {}

Procedure::Step SaveProcedure::Next() {
  switch (state_) {
    case State::kStart:
      return Send({});
    case State::kSave:
      return AfterSave();
    case State::kLook:
      return AfterLook();
    case State::kFinished:
      break;
  }
  return {};
}

Procedure::Step SaveProcedure::Send(std::chrono::nanoseconds pause) {
  save_.born = spec_.born;
  save_.again = doubted_;
  state_ = State::kSave;
  return {&save_, pause};
}

Procedure::Step SaveProcedure::AfterSave() {
  if (save_.status == OpStatus::kDone) {
    result_.version = save_.version;
    result_.born = save_.born;
    return Written();
  }
  if (save_.status == OpStatus::kInDoubt || doubted_) {
    doubted_ = true;
    return Look({});
  }
  return End(RefusalOf(save_));
}

Procedure::Step SaveProcedure::Look(std::chrono::nanoseconds pause) {
  state_ = State::kLook;
  return {&read_, pause};
}

Procedure::Step SaveProcedure::AfterLook() {
  const auto pause = backoff_.Next();
  const bool late = engine_.closed() || engine_.Now() + pause >= give_up_;
  if (read_.status == OpStatus::kMissing) {
    return spec_.save == SaveKind::kErase ? End(nullptr) : Unknown();
  }
  if (read_.status != OpStatus::kDone) return late ? Unknown() : Look(pause);
  const Trace trace = TraceOf(save_, read_);
  if (trace == Trace::kWritten) {
    result_.version = VersionAfter(spec_.save == SaveKind::kInsert ? 0 : spec_.expected);
    result_.born = read_.born;
    return Written();
  }
  return trace == Trace::kUnmoved && !late ? Send(pause) : Unknown();
}

Procedure::Step SaveProcedure::Written() noexcept {
  engine_.Saved(save_);
  return End(nullptr);
}

Procedure::Step SaveProcedure::End(FailurePtr failure) noexcept {
  state_ = State::kFinished;
  result_.failure = std::move(failure);
  return {};
}

Procedure::Step SaveProcedure::Unknown() noexcept {
  engine_.events().InDoubt(*spec_.collection, spec_.key);
  return End(MakeFailure(Errc::kInDoubt, *spec_.collection, spec_.key, "whether ",
                         " was written is unknown"));
}

}  // namespace doclock::detail
