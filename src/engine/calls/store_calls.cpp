#include "engine/calls/store_calls.h"

#include <algorithm>
#include <utility>

#include "engine/runtime/task_threads.h"
#include "platform/fork_generation.h"

namespace doclock::detail {
namespace {

/// The most workers that MakeRuntime accepts.
constexpr int kMostWorkers = 64;

/// How many workers may be in queries; and in searches, which share these workers unless the store
/// reads apart from writes.
int QueriesAtOnce(const StoreTraits& traits) {
  return traits.immediate || traits.lanes == 1 ? 1 : std::clamp(traits.lanes, 8, 16);
}

/// How many workers may be in attempts at several locks: more callers wait, for a call at a time.
int BatchesAtOnce(const StoreTraits& traits) { return std::clamp(traits.lanes, 1, 4); }

std::shared_ptr<Runtime> RuntimeFor(const ManagerOptions& options, const StoreTraits& traits) {
  if (options.runtime) return options.runtime;
  if (traits.immediate) return MakeRuntime(2);
  // One more for subscriptions. Each lane has one, whatever the others do: so have the renewals,
  // and what waits for rows that other transactions have locked.
  int workers = QueriesAtOnce(traits) + BatchesAtOnce(traits) + traits.lanes + 1;
  if (traits.lanes > 1) workers += Batcher::kKeptAtOnce;
  if (traits.reads_apart) workers += 1 + QueriesAtOnce(traits);  // key reads, searches
  return MakeRuntime(std::min(workers, kMostWorkers));
}

}  // namespace

StoreCalls::StoreCalls(std::shared_ptr<Store> store, ManagerOptions options)
    : store_(std::move(store)),
      options_(std::move(options)),
      traits_(store_->traits()),
      fork_generation_(platform::ForkGeneration()),
      runtime_(RuntimeFor(options_, traits_)),
      batcher_(std::make_shared<Batcher>(store_, *runtime_, budget())),
      reads_(traits_.reads_apart ? std::make_shared<Batcher>(store_, *runtime_, budget(), 1)
                                 : batcher_),
      queries_(std::make_shared<LimitedWork>(*runtime_, QueriesAtOnce(traits_))),
      searching_(traits_.reads_apart
                     ? std::make_shared<LimitedWork>(*runtime_, QueriesAtOnce(traits_))
                     : queries_),
      batches_(std::make_shared<LimitedWork>(*runtime_, BatchesAtOnce(traits_))) {}

bool StoreCalls::ours() const noexcept { return fork_generation_ == platform::ForkGeneration(); }

bool StoreCalls::Close() noexcept {
  const std::scoped_lock lock(mutex_);
  const bool first = !closed_.exchange(true, std::memory_order_acq_rel);
  for (const auto& sleeper : sleeping_callers_) sleeper->Set();
  return first;
}

void StoreCalls::Pause(std::chrono::nanoseconds time) {
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

void StoreCalls::After(std::chrono::nanoseconds time, Runtime::Task task) {
  std::uint64_t id = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (!closed()) {
      id = ++last_task_id_;
      delayed_tasks_.emplace(id, std::move(task));
    }
  }
  if (id == 0) return task();
  const auto timer = runtime_->Schedule(Now() + time, [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->Resume(id);
  });
  if (timer == 0) Resume(id);
}

Runtime::Task StoreCalls::TakeDelayed(std::uint64_t id) {
  const std::scoped_lock lock(mutex_);
  const auto found = delayed_tasks_.find(id);
  if (found == delayed_tasks_.end()) return nullptr;
  Runtime::Task task = std::move(found->second);
  delayed_tasks_.erase(found);
  return task;
}

void StoreCalls::Resume(std::uint64_t id) {
  if (const Runtime::Task task = TakeDelayed(id)) task();
}

void StoreCalls::ResumeAll() {
  std::map<std::uint64_t, Runtime::Task> all;
  {
    const std::scoped_lock lock(mutex_);
    all.swap(delayed_tasks_);
  }
  for (const auto& [id, task] : all) task();
}

std::shared_ptr<void> StoreCalls::Background() {
  background_.fetch_add(1, std::memory_order_relaxed);
  // Where this throws, it calls the deleter.
  return {nullptr, [self = shared_from_this()](std::nullptr_t) { self->EndBackground(); }};
}

void StoreCalls::EndBackground() noexcept {
  if (background_.fetch_sub(1, std::memory_order_acq_rel) != 1 || !closed()) return;
  const std::scoped_lock lock(mutex_);
  if (drained_) drained_->Set();
}

void StoreCalls::DrainBackground(TimePoint until) {
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

}  // namespace doclock::detail
