#include "engine/verbs/release_by_value.h"

#include <utility>

#include "engine/verbs/launch.h"

namespace doclock::detail {

WriteOp MakeWrite(const ValueRelease& release) {
  WriteOp write(*release.collection, release.key);
  write.lock_id = release.lock_id;
  write.mark = release.mark.is_nil() ? NewUuid() : release.mark;
  write.mode = release.mode;
  if (release.mode == LockMode::kExclusive) write.expected = release.version;
  write.body = release.fields;
  write.merge = true;
  return write;
}

FailurePtr NotOwner(const ValueRelease& release) noexcept {
  return MakeFailure(Errc::kNotOwner, *release.collection, release.key,
                     "the entity does not hold the lock of ", "; nothing was written");
}

FailurePtr RefusalOf(const ValueRelease& release, const WriteOp& write) noexcept {
  const bool gone = write.status == OpStatus::kLost || write.status == OpStatus::kMissing;
  return gone ? NotOwner(release) : FailureOf(write);
}

namespace {

/// A release by value, with doubt settled.
class ValueReleaseProcedure final : public Procedure {
 public:
  ValueReleaseProcedure(Engine& engine, ValueRelease release)
      : engine_(engine),
        release_(std::move(release)),
        write_(MakeWrite(release_)),
        read_(*release_.collection, {release_.key, write_.hash}),
        give_up_(engine.Now() + engine.options().call_budget.ms()) {}

  Step Next() override {
    if (release_.lock_id.is_nil()) return End(NotOwner(release_));
    if (!looking_) {
      if (write_.status == OpStatus::kPending) return {&write_};
      if (write_.status == OpStatus::kDone) return End(nullptr);
      if (write_.status == OpStatus::kInDoubt) doubted_ = true;
      if (!doubted_) return End(RefusalOf(release_, write_));
      looking_ = true;
      return {&read_};
    }
    return AfterLook();
  }

  void Interrupt() noexcept override { End(Unknown()); }

  FailurePtr Finish() noexcept {
    engine_.Freed(*release_.collection, write_.hash);
    return std::move(failure_);
  }

 private:
  Step AfterLook() {
    if (read_.status == OpStatus::kDone && read_.released == write_.mark) {
      return End(nullptr);
    }
    // Still held, and moved on by its holder: at that version it was not released, and never will.
    if (read_.status == OpStatus::kDone && release_.version != kAnyVersion &&
        read_.lock_id == release_.lock_id && read_.version != release_.version) {
      return End(NotOwner(release_));
    }
    const auto pause = backoff_.Next();
    const bool late = engine_.closed() || engine_.Now() + pause >= give_up_;
    if (late) return End(Unknown());
    if (read_.status == OpStatus::kDone && MayStillHold(read_.lock_id)) {
      looking_ = false;  // not yet, or not at all: the same again
      return {&write_, pause};
    }
    if (read_.status == OpStatus::kFailed) return {&read_, pause};
    return End(Unknown());
  }

  /// Of a share the document does not show whether it is there; trying again does.
  [[nodiscard]] bool MayStillHold(const Uuid& shown) const noexcept {
    if (release_.mode == LockMode::kExclusive) return shown == release_.lock_id;
    const bool gone = write_.status == OpStatus::kLost || write_.status == OpStatus::kMissing;
    return shown == kSharedLockId && !gone;
  }
  FailurePtr Unknown() noexcept {
    engine_.events().InDoubt(*release_.collection, release_.key);
    return MakeFailure(Errc::kInDoubt, *release_.collection, release_.key, "whether ",
                       " was released is unknown");
  }
  Step End(FailurePtr failure) noexcept {
    failure_ = std::move(failure);
    return {};
  }

  Engine& engine_;
  const ValueRelease release_;
  WriteOp write_;
  ReadOp read_;
  const TimePoint give_up_;
  Backoff backoff_;
  bool looking_ = false;
  bool doubted_ = false;
  FailurePtr failure_;
};

}  // namespace

FailurePtr ReleaseByValue(const EnginePtr& engine, ValueRelease release) {
  return RunHere<ValueReleaseProcedure>(engine, WhyClosed(*engine), *engine, std::move(release));
}

void ReleaseByValueAsync(const EnginePtr& engine, ValueRelease release, WriteDone done) {
  RunOnWorkers<ValueReleaseProcedure>(engine, WhyClosed(*engine), std::move(done), *engine,
                                      std::move(release));
}

}  // namespace doclock::detail
