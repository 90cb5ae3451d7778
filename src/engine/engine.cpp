#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/calls/failure.h"
#include "engine/calls/holder_text.h"
#include "engine/check_options.h"
#include "engine/runtime/task_threads.h"
#include "platform/process.h"

namespace doclock::detail {
namespace {

/// How long idle threads may take to end.
constexpr std::chrono::nanoseconds kTimeToEnd = std::chrono::milliseconds(250);

OwnerPtr OwnerFor(const ManagerOptions& options) {
  auto owner = std::make_shared<LockHolder>();
  owner->name = options.owner.empty() ? AsText(platform::ProgramName()) : options.owner;
  owner->host = HostText();
  owner->pid = platform::ProcessId();
  return owner;
}

}  // namespace

EnginePtr Engine::Make(std::shared_ptr<Store> store, ManagerOptions options) {
  CheckManagerOptions(store.get(), options);
  auto engine = std::make_shared<Engine>(std::move(store), std::move(options));
  engine->leases_ = std::make_shared<LeaseBook>(engine->calls_, engine);
  engine->waits_ = std::make_shared<WaitTable>(engine->leases_);
  engine->calls_->OnFreed(
      [weak = std::weak_ptr(engine->waits_)](Collection& where, std::size_t hash) {
        if (const auto waits = weak.lock()) waits->Freed(where, hash);
      });
  return engine;
}

Engine::Engine(std::shared_ptr<Store> store, ManagerOptions options)
    : owner_(OwnerFor(options)),
      calls_(std::make_shared<StoreCalls>(std::move(store), std::move(options))) {}

void Engine::Close() noexcept {
  // In a forked child the threads are missing and their mutexes may stay locked forever.
  if (!ours()) return;
  const TimePoint until = Now() + options().drain_timeout.ms();
  if (!calls_->Close()) return AwaitClosed();
  calls_->ResumeAll();
  waits_->pendings().Close();
  leases_->keeper().StopRenewing();
  // It may take as long as a call of the store.
  runtime().Work([waits = waits_, background = Background()] { waits->hints().Close(); });
  // On one of its own threads there is nothing to wait on: that thread may be needed. Then releases
  // under way have until the other threads have ended.
  const bool drain = !runtime().OnOwnThread() || options().runtime;
  if (drain) calls_->DrainBackground(until);
  if (drain) leases_->keeper().Close();
  // Tasks that are left refer to the calls, which have the runtime.
  runtime().Stop(std::max(until - Now(), kTimeToEnd));
  if (!drain) leases_->keeper().Close();
  const std::scoped_lock lock(mutex_);
  threads_ended_ = true;
  closing_changed_.notify_all();
}

void Engine::AwaitClosed() {
  if (runtime().OnOwnThread()) return;
  std::unique_lock lock(mutex_);
  const auto ended = [this] { return threads_ended_; };
  if (OnTaskThread()) {  // of another manager, for whose threads the first call may be waiting
    closing_changed_.wait_for(lock, options().drain_timeout.ms(), ended);
  } else {
    closing_changed_.wait(lock, ended);
  }
}

FailurePtr WhyClosed(const Engine& engine) noexcept {
  if (!engine.ours()) {
    return MakeFailure(Errc::kForked, "the LockManager belongs to the parent process");
  }
  return engine.closed() ? MakeFailure(Errc::kClosed, "the LockManager is closed") : nullptr;
}

}  // namespace doclock::detail
