#include "engine/procedures/background_release.h"

#include <memory>
#include <utility>

#include "engine/procedures/procedure.h"
#include "engine/runtime/insist.h"

namespace doclock::detail {
namespace {

class BackgroundRelease final : public Procedure {
 public:
  BackgroundRelease(Engine& engine, Collection& collection, const Key& key, const Uuid& lock_id,
                    WriteKind kind, LockMode mode, TimePoint until, Ghost ghost)
      : engine_(engine),
        key_(key),
        op_(collection, key_),
        until_(until),
        last_arrival_(engine.Now() + engine.options().call_budget.ms()),
        ghost_(ghost) {
    op_.request.write = kind;
    op_.request.lock_id = lock_id;
    op_.request.release_id = NewUuid();
    op_.request.mode = mode;
  }

  Step Next() override {
    if (!started_) {
      started_ = true;
      return {&op_};
    }
    if (op_.status == OpStatus::kDone) engine_.Freed(*op_.collection, op_.hash);
    if (IsSettled() || engine_.closed()) return {};
    if (op_.detail && op_.detail->code == Errc::kForked) return {};  // the parent releases it
    const auto pause = backoff_.Next();
    sent_ = engine_.Now() + pause;
    if (sent_ >= until_) return {};
    return {&op_, pause};
  }
  void Interrupt() noexcept override {}  // the lock ends with its lease

 private:
  [[nodiscard]] bool IsSettled() const noexcept {
    const bool done = op_.status == OpStatus::kDone;
    if (!done && op_.status != OpStatus::kLost && op_.status != OpStatus::kMissing) return false;
    if (ghost_ == Ghost::kNo || sent_ >= last_arrival_) return true;
    // What a waiter left may be the entry of an earlier attempt: the last one may still come.
    return done && op_.request.write != WriteKind::kLeave;
  }

  Engine& engine_;
  const Key key_;
  WriteOp op_;
  const TimePoint until_;
  /// The grant's call has ended by then. What is sent later finds what it left; a grant that comes
  /// later still ends with its lease.
  const TimePoint last_arrival_;
  TimePoint sent_{};  ///< When the request under way was to be sent. The first counts as early.
  const Ghost ghost_;
  Backoff backoff_;
  bool started_ = false;
};

void Start(Engine& engine, Collection& collection, const Key& key, const Uuid& lock_id,
           WriteKind kind, LockMode mode, TimePoint until, Ghost ghost) noexcept {
  // Out of memory the lock ends with its lease.
  Insist([&] {
    const auto keep = engine.shared_from_this();
    RunAsync(keep,
             std::make_shared<BackgroundRelease>(engine, collection, key, lock_id, kind, mode,
                                                 until, ghost),
             [background = keep->Background()] {});
  });
}

}  // namespace

void ReleaseInBackground(Engine& engine, Collection& collection, const Key& key,
                         const Uuid& lock_id, LockMode mode, TimePoint until,
                         Ghost ghost) noexcept {
  Start(engine, collection, key, lock_id, WriteKind::kRelease, mode, until, ghost);
}

void LeaveInBackground(Engine& engine, Collection& collection, const Key& key, const Uuid& lock_id,
                       TimePoint until, Ghost ghost) noexcept {
  Start(engine, collection, key, lock_id, WriteKind::kLeave, LockMode::kExclusive, until, ghost);
}

}  // namespace doclock::detail
