#include <algorithm>

#include "doclock/detail/facade.h"
#include "engine/engine.h"
#include "engine/procedures/procedure.h"

namespace doclock::detail {
namespace {

/// Locks one after the other, all under one timeout. Both forms use it.
class LockingAll {
 public:
  LockingAll(EnginePtr engine, const AcquireSpec& spec, std::vector<Key> keys)
      : engine_(std::move(engine)),
        spec_(spec),
        keys_(SortedUnique(std::move(keys))),
        started_(engine_->Now()) {
    result_.grants.reserve(keys_.size());
    if (engine_->closed()) Fail(MakeFailure(Errc::kClosed, "the LockManager is closed"));
  }

  [[nodiscard]] bool done() const noexcept {
    return result_.failure != nullptr || result_.grants.size() == keys_.size();
  }

  /// The next lock to take.
  [[nodiscard]] AcquireSpec Next() const {
    AcquireSpec spec = spec_;
    spec.key = keys_[result_.grants.size()];
    if (spec.wait != kForever) {
      const Duration spent =
          std::chrono::duration_cast<std::chrono::milliseconds>(engine_->Now() - started_);
      spec.wait = std::max(Duration(), Duration(spec.wait.ms() - spent.ms()));
    }
    return spec;
  }

  void Fail(FailurePtr failure) noexcept {
    result_.failure = std::move(failure);
    while (!result_.grants.empty()) result_.grants.pop_back();
  }

  void Take(AcquireResult result) noexcept {
    if (result.failure) {
      Fail(std::move(result.failure));
    } else {
      result_.grants.push_back(std::move(result.grant));
    }
  }

  /// A lease without renewal may have ended during the wait for the others.
  AcquireAllResult Finish() noexcept {
    for (const Grant& grant : result_.grants) {
      if (result_.failure || LeaseHeld(*grant.lease)) continue;
      Fail(MakeFailure(Errc::kLost, [&] {
        return "the lock of " + Describe(*spec_.collection, LeaseKey(*grant.lease)) +
               " ended before all others were locked";
      }));
      break;
    }
    return std::move(result_);
  }

  [[nodiscard]] const EnginePtr& engine() const noexcept { return engine_; }

 private:
  const EnginePtr engine_;
  const AcquireSpec spec_;
  const std::vector<Key> keys_;
  const TimePoint started_;
  AcquireAllResult result_;
};

class LockingAllAsync : public std::enable_shared_from_this<LockingAllAsync> {
 public:
  LockingAllAsync(LockingAll locking, AsyncContext context,
                  std::function<void(AcquireAllResult)> done)
      : locking_(std::move(locking)), context_(std::move(context)), done_(std::move(done)) {}

  void Step() {
    auto self = shared_from_this();
    const CancellerPtr canceller = context_.canceller;  // all may be complete before it follows
    canceller->Follow(
        AcquireAsync(locking_.engine(), locking_.Next(), [self](AcquireResult result) {
          self->locking_.Take(std::move(result));
          self->locking_.done() ? self->Complete() : self->NextStep();
        }));
  }

  void Complete() noexcept {
    const auto done = std::move(done_);
    context_ = {};  // it leads back here
    done(locking_.Finish());
  }

 private:
  void NextStep() noexcept {
    try {
      Step();
    } catch (...) {
      locking_.Fail(FailureOfCaught());
      Complete();
    }
  }

  LockingAll locking_;
  AsyncContext context_;
  std::function<void(AcquireAllResult)> done_;
};

}  // namespace

std::vector<Key> SortedUnique(std::vector<Key> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

AcquireAllResult AcquireAll(const EnginePtr& engine, const AcquireSpec& spec, std::vector<Key> keys,
                            std::stop_token stop) {
  LockingAll locking(engine, spec, std::move(keys));
  while (!locking.done()) locking.Take(Acquire(engine, locking.Next(), stop));
  return locking.Finish();
}

void AcquireAllAsync(const EnginePtr& engine, const AcquireSpec& spec, std::vector<Key> keys,
                     AsyncContext context, std::function<void(AcquireAllResult)> done) {
  const bool nothing_to_do = keys.empty();
  auto task = std::make_shared<LockingAllAsync>(LockingAll(engine, spec, std::move(keys)),
                                                std::move(context), std::move(done));
  if (nothing_to_do) {
    RunOnNotifier(engine, [task] { task->Complete(); });
  } else {
    task->Step();
  }
}

}  // namespace doclock::detail
