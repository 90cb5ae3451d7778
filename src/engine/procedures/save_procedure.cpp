#include "engine/procedures/save_procedure.h"

#include <utility>

namespace doclock::detail {

SaveProcedure::SaveProcedure(Engine& engine, SaveSpec spec)
    : engine_(engine),
      spec_(std::move(spec)),
      save_(*spec_.collection, spec_.key),
      read_(*spec_.collection, spec_.key),
      give_up_(engine.Now() + engine.options().call_budget.ms()) {
  save_.save = spec_.save;
  save_.expected = spec_.expected;
  save_.born = spec_.born;
  save_.write_id = NewUuid();
  save_.body = spec_.body;
  save_.base = spec_.base;
}

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
    return End(nullptr);
  }
  if (save_.status == OpStatus::kInDoubt || doubted_) {
    doubted_ = true;
    return Look({});
  }
  FailurePtr failure = FailureOf(save_);
  const bool may_change = !failure.get_deleter().lasting;
  if (may_change && failure->code == Errc::kConflict && spec_.expected != kAnyVersion) {
    failure->expected = spec_.expected;
  }
  return End(std::move(failure));
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
  if (read_.released == save_.write_id) {
    result_.version = VersionAfter(spec_.save == SaveKind::kInsert ? 0 : spec_.expected);
    result_.born = read_.born;
    return End(nullptr);
  }
  // Unmoved: the same compare-and-set again is safe, whenever the first one arrives.
  const bool unmoved = spec_.save != SaveKind::kInsert && spec_.expected != kAnyVersion &&
                       read_.version == spec_.expected && read_.born == spec_.born;
  return unmoved && !late ? Send(pause) : Unknown();
}

Procedure::Step SaveProcedure::End(FailurePtr failure) noexcept {
  state_ = State::kFinished;
  result_.failure = std::move(failure);
  return {};
}

Procedure::Step SaveProcedure::Unknown() noexcept {
  engine_.events().InDoubt(*spec_.collection, spec_.key);
  return End(MakeFailure(Errc::kInDoubt, [&] {
    return "whether " + Describe(*spec_.collection, spec_.key) + " was written is unknown";
  }));
}

}  // namespace doclock::detail
