#include "engine/calls/background_release.h"

#include <memory>
#include <utility>

#include "engine/calls/procedure.h"

namespace doclock::detail {
namespace {

class BackgroundRelease final : public Procedure {
 public:
  BackgroundRelease(StoreCalls& calls, Collection& collection, const Key& key, const Uuid& lock_id,
                    WriteKind kind, LockMode mode, TimePoint until, Ghost ghost)
      : calls_(calls),
        key_(key),
        op_(collection, key_),
        until_(until),
        last_arrival_(calls.Now() + calls.budget()),
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
    if (op_.status == OpStatus::kDone) calls_.Freed(*op_.collection, op_.hash);
    if (IsSettled() || calls_.closed()) return {};
    if (op_.detail && op_.detail->code == Errc::kForked) return {};  // the parent releases it
    const auto pause = backoff_.Next();
    sent_ = calls_.Now() + pause;
    if (sent_ >= until_) return {};
    return {&op_, pause};
  }

 private:
  [[nodiscard]] bool IsSettled() const noexcept {
    const bool done = op_.status == OpStatus::kDone;
    if (!done && op_.status != OpStatus::kLost && op_.status != OpStatus::kMissing) return false;
    if (ghost_ == Ghost::kNo || sent_ >= last_arrival_) return true;
    // What a waiter left may be the entry of an earlier attempt: the last one may still come.
    return done && op_.request.write != WriteKind::kLeave;
  }

  StoreCalls& calls_;
  const Key key_;
  WriteOp op_;
  const TimePoint until_;
  /// The grant's call has ended by then. What is sent later finds what it left; a grant that comes
  /// later still ends with its lease.
  const TimePoint last_arrival_;
  TimePoint sent_{};  ///< When the request under way was due. The first counts as early.
  const Ghost ghost_;
  Backoff backoff_;
  bool started_ = false;
};

void Start(StoreCalls& calls, Collection& collection, const Key& key, const Uuid& lock_id,
           WriteKind kind, LockMode mode, TimePoint until, Ghost ghost) noexcept {
  RunAsync(calls,
           std::make_shared<BackgroundRelease>(calls, collection, key, lock_id, kind, mode, until,
                                               ghost),
           [background = calls.Background()] {});
}

}  // namespace

void ReleaseInBackground(StoreCalls& calls, Collection& collection, const Key& key,
                         const Uuid& lock_id, LockMode mode, TimePoint until,
                         Ghost ghost) noexcept {
  Start(calls, collection, key, lock_id, WriteKind::kRelease, mode, until, ghost);
}

void LeaveInBackground(StoreCalls& calls, Collection& collection, const Key& key,
                       const Uuid& lock_id, TimePoint until, Ghost ghost) noexcept {
  Start(calls, collection, key, lock_id, WriteKind::kLeave, LockMode::kExclusive, until, ghost);
}

}  // namespace doclock::detail
