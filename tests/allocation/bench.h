#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocation/watching_runtime.h"
#include "doclock/doclock.h"
#include "doclock/testing/manual_clock.h"

namespace doclock::allocation_test {

using namespace std::chrono_literals;
using testing::ManualClock;

/// A document that carries its lock.
struct Job {
  std::string id;
  int n = 0;
  LockFields lock{};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Job, id, n)

}  // namespace doclock::allocation_test

template <>
struct doclock::EntityTraits<doclock::allocation_test::Job>
    : DefaultEntityTraits<doclock::allocation_test::Job> {
  static constexpr auto kLockFields = &doclock::allocation_test::Job::lock;
};

namespace doclock::allocation_test {

/// What one verb has to work with: a process on virtual time whose memory may run out, and another
/// one whose memory does not.
struct Bench {
  explicit Bench(const std::shared_ptr<Store>& shared_store, std::shared_ptr<ManualClock> time)
      : clock(std::move(time)), store(shared_store) {
    jobs.Insert(Job{"a", 1});
    jobs.Insert(Job{"b", 1});
  }

  /// Runs both processes until the result is there.
  template <class R>
  R Get(std::future<R> future) {
    {
      const TestsOwnCode code;
      for (int i = 0; i < 60 && future.wait_for(0s) != std::future_status::ready; ++i) {
        clock->Advance(1s);
      }
      if (future.wait_for(0s) != std::future_status::ready) throw std::logic_error("it hangs");
    }
    return future.get();
  }

  /// Runs the task at a later time: it may fail too, and then ends as it can.
  void Later(Duration time, std::function<void()> task) {
    others_runtime->Schedule(clock->Now() + time.ms(), [task = std::move(task)] {
      const CodeUnderTest code;
      try {
        task();
      } catch (const std::bad_alloc&) {
      } catch (const Error&) {
      }
    });
  }

  std::shared_ptr<ManualClock> clock;
  std::shared_ptr<Store> store;
  std::shared_ptr<WatchingRuntime> runtime = std::make_shared<WatchingRuntime>(clock->runtime());
  LockManager manager{store, {.drain_timeout = 1min, .runtime = runtime}};
  std::shared_ptr<Runtime> others_runtime = clock->runtime();
  LockManager other{store, {.runtime = others_runtime}};
  LockingRepository<Job> jobs{manager, "jobs"};
  LockingRepository<Job> others{other, "jobs"};
  LockProvider locks{manager, "locks"};
  std::optional<Locked<Job>> held;
  std::optional<Locked<Job>> in_the_way;
  std::optional<Snapshot<Job>> found;
  std::optional<HeldLock> lock, share;
  std::vector<std::future<HeldLock>> waiting;
  std::unique_ptr<NamedMutex> mutex;
};

}  // namespace doclock::allocation_test
