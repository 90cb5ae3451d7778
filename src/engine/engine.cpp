#include "engine/engine.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/check_options.h"
#include "engine/failure.h"
#include "engine/holder_text.h"
#include "engine/procedures/background_release.h"
#include "engine/runtime/insist.h"
#include "engine/runtime/task_threads.h"
#include "platform/fork_generation.h"
#include "platform/process.h"

namespace doclock::detail {
namespace {

/// The most workers that MakeRuntime accepts.
constexpr int kMostWorkers = 64;

/// How many workers may be in queries; and in searches, which share these workers unless the store
/// reads apart from writes.
int QueriesAtOnce(const StoreTraits& traits) {
  return traits.immediate || traits.lanes == 1 ? 1 : std::clamp(traits.lanes, 8, 16);
}

std::shared_ptr<Runtime> RuntimeFor(const ManagerOptions& options, const StoreTraits& traits) {
  if (options.runtime) return options.runtime;
  if (traits.immediate) return MakeRuntime(2);
  // One more for subscriptions. Each lane has one, whatever the others do: so have the renewals,
  // and what waits for documents that are kept.
  int workers = QueriesAtOnce(traits) + traits.lanes + 1;
  if (traits.lanes > 1) workers += Batcher::kKeptAtOnce;
  if (traits.reads_apart) workers += 1 + QueriesAtOnce(traits);  // key reads, searches
  return MakeRuntime(std::min(workers, kMostWorkers));
}

/// How long idle threads may take to end.
constexpr std::chrono::nanoseconds kTimeToEnd = std::chrono::milliseconds(250);

/// For the steps of closing: out of memory in one must not keep the others from being taken.
template <class Step>
void IgnoringErrors(const Step& step) noexcept {
  try {
    step();
  } catch (...) {
    // Leases end by themselves.
  }
}

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
  engine->keeper_ = std::make_shared<Keeper>(*engine);
  engine->pendings_ = std::make_unique<PendingSet>();
  engine->waits_ = std::make_shared<WaitTable>(*engine);
  engine->searches_ = std::make_shared<NextSearches>(*engine);
  engine->hints_ = std::make_unique<Hints>(*engine);
  return engine;
}

Engine::Engine(std::shared_ptr<Store> store, ManagerOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      traits_(store_->traits()),
      owns_runtime_(!options_.runtime),
      fork_generation_(platform::ForkGeneration()),
      runtime_(RuntimeFor(options_, traits_)),
      owner_(OwnerFor(options_)),
      events_(options_.observer, *runtime_),
      batcher_(std::make_shared<Batcher>(store_, *runtime_, options_.call_budget.ms())),
      reads_(traits_.reads_apart
                 ? std::make_shared<Batcher>(store_, *runtime_, options_.call_budget.ms(), 1)
                 : batcher_),
      queries_(std::make_shared<LimitedWork>(*runtime_, QueriesAtOnce(traits_))),
      searching_(traits_.reads_apart
                     ? std::make_shared<LimitedWork>(*runtime_, QueriesAtOnce(traits_))
                     : queries_),
      subscribing_(std::make_shared<LimitedWork>(*runtime_, 1)) {}

Engine::~Engine() = default;

bool Engine::ours() const noexcept { return fork_generation_ == platform::ForkGeneration(); }

TimePoint Engine::DeadlineOf(TimePoint sent, std::chrono::milliseconds ttl) const noexcept {
  const std::chrono::nanoseconds lease = ttl;
  // Read each time: a store may find that its members' clocks have moved apart.
  return sent + lease - lease / 1000 - store_->traits().clock_margin;
}

LeasePtr Engine::MakeLease(const AcquireSpec& spec, const Key& key, const GrantRequest& grant,
                           std::int64_t version, const Uuid& born, Body body, TimePoint sent,
                           bool passed_on) {
  const auto give_back = [&] {
    ReleaseInBackground(*this, *spec.collection, key, grant.lock_id, grant.mode, Now() + grant.ttl);
  };
  try {
    LeasePtr lease(new Lease(shared_from_this(), *spec.collection, key, grant, spec.renew,
                             spec.named, version, born, std::move(body), sent, passed_on));
    if (Now() < lease->deadline()) {
      keeper_->Add(*lease);
      if (!closed()) return lease;
      keeper_->Remove(*lease);  // its renewals have ended
    }
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
  return nullptr;
}

bool Engine::Prolong(Lease& lease, TimePoint sent, std::chrono::milliseconds ttl) noexcept {
  if (!lease.lost() && Now() < lease.deadline()) {
    lease.Extend(sent, ttl);
    keeper_->Refresh(lease);
    return true;
  }
  Lose(lease);
  ReleaseInBackground(lease, Now() + ttl);
  return false;
}

void Engine::Lose(Lease& lease) noexcept {
  const Phase phase = lease.phase();
  if (phase != Phase::kHeld && phase != Phase::kWriting) return;
  if (!lease.MarkLost()) return;
  const LeasePtr keep(&lease);
  keeper_->Remove(lease);
  events_.Ended(lease, Ending::kLost);
  // Out of memory no callback runs; the lease itself says that it is lost.
  Insist([&] { runtime_->Notify([keep] { keep->FireLost(); }); });
  GiveBackLost(lease);
}

void Engine::GiveBackLost(Lease& lease) noexcept {
  const TimePoint until = lease.stored_until();
  if (closed() || until <= std::max(lease.deadline(), Now())) return;
  ReleaseInBackground(lease, until);
}

void Engine::Hear(Collection& collection, const LockHint& hint) noexcept {
  if (runtime_->IsVirtual() && !runtime_->OnOwnThread()) {
    // Out of memory it is lost, as hints may be.
    Insist([&] {
      runtime_->Post([weak = weak_from_this(), &collection, hint] {
        if (const auto self = weak.lock()) self->Hear(collection, hint);
      });
    });
    return;
  }
  waits_->OnHint(collection, hint);
  if (!hint.grant) searches_->OnHint(collection);
}

void Engine::Freed(Collection& collection, std::size_t hash) noexcept {
  waits_->OnHint(collection, {hash});
  FreedForSearches(collection);
}

void Engine::FreedForSearches(Collection& collection) noexcept {
  if (searches_->waiting() && !hints_->Heard(collection)) searches_->OnHint(collection);
}

void Engine::Pause(std::chrono::nanoseconds time) {
  const std::shared_ptr<Runtime::Event> over = runtime_->MakeEvent();
  const auto timer = runtime_->Schedule(Now() + time, [over] { over->Set(); });
  const auto forget = [&] {
    runtime_->Cancel(timer);
    const std::scoped_lock lock(mutex_);
    sleeping_callers_.erase(over);
  };
  try {
    {
      const std::scoped_lock lock(mutex_);
      if (!closed()) sleeping_callers_.insert(over);
    }
    if (timer != 0 && !closed()) over->Wait();
  } catch (...) {
    forget();
    throw;
  }
  forget();
}

void Engine::After(std::chrono::nanoseconds time, Runtime::Task task) {
  std::uint64_t id = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (!closed()) {
      id = ++last_task_id_;
      delayed_tasks_.emplace(id, std::move(task));
    }
  }
  if (id == 0) return task();
  Runtime::TimerId timer = 0;
  try {
    timer = runtime_->Schedule(Now() + time, [weak = weak_from_this(), id] {
      if (const auto self = weak.lock()) self->Resume(id);
    });
  } catch (...) {
    // The caller takes care of the task, unless Close has run it meanwhile.
    if (TakeDelayed(id)) throw;
    return;
  }
  if (timer == 0) Resume(id);
}

Runtime::Task Engine::TakeDelayed(std::uint64_t id) {
  const std::scoped_lock lock(mutex_);
  const auto found = delayed_tasks_.find(id);
  if (found == delayed_tasks_.end()) return nullptr;
  Runtime::Task task = std::move(found->second);
  delayed_tasks_.erase(found);
  return task;
}

void Engine::Resume(std::uint64_t id) {
  if (const Runtime::Task task = TakeDelayed(id)) task();
}

void Engine::ResumeAll() {
  std::map<std::uint64_t, Runtime::Task> all;
  {
    const std::scoped_lock lock(mutex_);
    all.swap(delayed_tasks_);
  }
  for (const auto& [id, task] : all) task();
}

std::shared_ptr<void> Engine::Background() {
  background_.fetch_add(1, std::memory_order_relaxed);
  // Where this throws, it calls the deleter.
  return {nullptr, [self = shared_from_this()](std::nullptr_t) { self->EndBackground(); }};
}

void Engine::EndBackground() noexcept {
  if (background_.fetch_sub(1, std::memory_order_acq_rel) != 1 || !closed()) return;
  const std::scoped_lock lock(mutex_);
  if (drained_) drained_->Set();
}

void Engine::DrainBackground(TimePoint until) {
  const std::shared_ptr<Runtime::Event> drained = runtime_->MakeEvent();
  {
    const std::scoped_lock lock(mutex_);
    drained_ = drained;
  }
  if (background_.load(std::memory_order_acquire) == 0) return;
  const auto timer = runtime_->Schedule(until, [drained] { drained->Set(); });
  if (timer != 0) drained->Wait();
  runtime_->Cancel(timer);
}

void Engine::EndSubscriptions() {
  try {
    // It may take as long as a call of the store.
    runtime_->Work(
        [self = shared_from_this(), background = Background()] { self->hints_->Close(); });
  } catch (...) {
    hints_->Close();
  }
}

void Engine::Close() noexcept {
  // In a forked child the threads are missing and their mutexes may stay locked forever.
  if (!ours()) return;
  const TimePoint until = Now() + options_.drain_timeout.ms();
  bool already = false;
  {
    const std::scoped_lock lock(mutex_);
    already = closed_.exchange(true, std::memory_order_acq_rel);
    for (const auto& sleeper : sleeping_callers_) sleeper->Set();
  }
  if (already) return AwaitClosed();
  IgnoringErrors([&] { ResumeAll(); });
  pendings_->Close();
  IgnoringErrors([&] { keeper_->StopRenewing(); });
  IgnoringErrors([&] { EndSubscriptions(); });
  // On one of its own threads there is nothing to wait on: that thread may be needed. Then releases
  // under way have until the other threads have ended.
  const bool drain = !runtime_->OnOwnThread() || !owns_runtime_;
  if (drain) IgnoringErrors([&] { DrainBackground(until); });
  if (drain) IgnoringErrors([&] { keeper_->Close(); });
  // Tasks that are left refer to the engine, which has the runtime.
  IgnoringErrors([&] { runtime_->Stop(std::max(until - Now(), kTimeToEnd)); });
  if (!drain) IgnoringErrors([&] { keeper_->Close(); });
  const std::scoped_lock lock(mutex_);
  threads_ended_ = true;
  closing_changed_.notify_all();
}

void Engine::AwaitClosed() {
  if (runtime_->OnOwnThread()) return;
  std::unique_lock lock(mutex_);
  const auto ended = [this] { return threads_ended_; };
  if (OnTaskThread()) {  // of another manager, for whose threads the first call may be waiting
    closing_changed_.wait_for(lock, options_.drain_timeout.ms(), ended);
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

GrantRequest MakeGrant(const AcquireSpec& spec) {
  return {.lock_id = NewUuid(),
          .ttl = spec.ttl,
          .owner = spec.owner,
          .min_hold = spec.min_hold,
          .group = spec.group,
          .mode = spec.mode,
          .max_holders = spec.max_holders};
}

std::string Describe(const Collection& collection, const Key& key) {
  return "document '" + key.ToString() + "' of '" + collection.name() + "'";
}

std::string GrantedTooLate(Engine& engine, const std::string& what) {
  std::string text = "the store granted " + what + " only after the lease had ended";
  const auto margin =
      std::chrono::ceil<std::chrono::milliseconds>(engine.store().traits().clock_margin);
  // No lease is so short that a smaller margin ends it.
  if (margin < kMinTtl.ms() / 2) return text;
  return text + ": a holder gives up its lease " + std::to_string(margin.count()) +
         " ms early, because the clocks of the store's servers differ by up to that much; "
         "synchronise them, for example by NTP (the check 'clocks' of `doclock doctor` names them)";
}

}  // namespace doclock::detail
