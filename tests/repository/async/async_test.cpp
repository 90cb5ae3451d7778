#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <thread>

#include "repository/support/harness.h"

namespace doclock {
namespace {

namespace asio = boost::asio;

class AsyncTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(AsyncTest);

/// The arguments of a callback.
template <class R>
struct Outcome {
  int calls = 0;
  std::exception_ptr error;
  R result;
  std::thread::id thread;

  auto Callback() {
    return [this](std::exception_ptr e, R r) {
      ++calls;
      error = std::move(e);
      result = std::move(r);
      thread = std::this_thread::get_id();
    };
  }
  [[nodiscard]] std::optional<Errc> code() const {
    return CodeOf([this] {
      if (error) std::rethrow_exception(error);
    });
  }
};

TEST_P(AsyncTest, Futures) {
  auto saga = Get(sagas.LockAsync({"42", Saga{"42", "new"}}));
  saga->step = "half";
  Get(saga.SaveAsync());
  EXPECT_EQ((*Stored("42"))["step"], "half");
  EXPECT_FALSE(Get(sagas.TryLockAsync("42")));
  EXPECT_EQ(CodeOf([&] { (void)Get(sagas.LockAsync("42")); }), Errc::kBusy);
  saga->step = "whole";
  Get(saga.ReleaseAsync());
  EXPECT_FALSE(saga.held());
  EXPECT_EQ((*Stored("42"))["step"], "whole");
  Get(Get(sagas.LockAsync("42")).DiscardAsync());
  Get(Get(sagas.LockAsync("42")).EraseAsync());
  EXPECT_FALSE(Stored("42"));
  EXPECT_THROW((void)Get(sagas.LockAsync("42")), NotFoundException);
  auto detached = Get(sagas.TryLockAsync({"42", Saga{"42"}}));
  Get(detached->DetachAsync());
  EXPECT_FALSE(detached->held());
}

TEST_P(AsyncTest, AnUnusedFutureReleasesTheLock) {
  sagas.Insert(Saga{"42"});
  (void)sagas.LockAsync("42");
  clock->RunPending();
  EXPECT_FALSE(IsLocked("42"));
}

TEST_P(AsyncTest, AHandleThatIsGoneKeepsNothingOnFailure) {
  std::optional saga = sagas.Lock({"42", Saga{"42", "new"}});
  (*saga)->step = "paid";
  store->Inject({.kind = Fault::Kind::kRefused, .op = OpKind::kWrite, .times = 2});
  EXPECT_EQ(CodeOf([&] { Get(saga->ReleaseAsync()); }), Errc::kRefused);
  EXPECT_TRUE(saga->held());
  auto released = saga->ReleaseAsync();
  saga.reset();
  EXPECT_EQ(CodeOf([&] { Get(std::move(released)); }), Errc::kRefused);
  clock->RunPending();
  EXPECT_FALSE(IsLocked("42"));
  EXPECT_EQ((*Stored("42"))["step"], "new");
}

TEST_P(AsyncTest, DestroyingTheHandleDoesNotStopItsRelease) {
  {
    auto saga = sagas.Lock({"42", Saga{"42", "new"}});
    saga->step = "paid";
    (void)saga.ReleaseAsync();
  }
  clock->RunPending();
  EXPECT_EQ((*Stored("42"))["step"], "paid");
  EXPECT_FALSE(IsLocked("42"));
}

TEST_P(AsyncTest, ACallbackIsNeverCalledInsideTheCall) {
  Outcome<Locked<Saga>> outcome;
  sagas.LockAsync({"42", Saga{"42"}}, outcome.Callback());
  EXPECT_EQ(outcome.calls, 0);
  clock->RunPending();
  EXPECT_EQ(outcome.calls, 1);
  EXPECT_FALSE(outcome.error);
  EXPECT_TRUE(outcome.result.held());
  Outcome<Locked<Saga>> busy;
  sagas.LockAsync("42", {}, busy.Callback());
  clock->RunPending();
  EXPECT_EQ(busy.code(), Errc::kBusy);
  EXPECT_FALSE(busy.result.held());
}

TEST_P(AsyncTest, ACallbackThatCannotBeCopied) {
  sagas.Insert(Saga{"42"});
  bool called = false;
  sagas.FindAsync("42", [&, only = std::make_unique<int>(7)](std::exception_ptr,
                                                             std::optional<Snapshot<Saga>> found) {
    called = found.has_value() && *only == 7;
  });
  clock->RunPending();
  EXPECT_TRUE(called);
}

TEST_P(AsyncTest, AHandlerRunsOnItsExecutorWhichHasWorkUntilThen) {
  asio::io_context io;
  auto held = sagas.Lock({"42", Saga{"42"}});
  Outcome<Locked<Saga>> outcome;
  sagas.LockAsync("42", {.wait = 1min}, asio::bind_executor(io, outcome.Callback()));
  clock->Advance(5s);
  EXPECT_EQ(io.poll(), 0U);
  EXPECT_FALSE(io.stopped());
  held.Release();
  clock->RunPending();
  EXPECT_EQ(outcome.calls, 0);
  EXPECT_EQ(io.run(), 1U);
  EXPECT_EQ(outcome.calls, 1);
  EXPECT_TRUE(outcome.result.held());
}

TEST_P(AsyncTest, AnUndeliveredGrantIsGivenBack) {
  {
    asio::io_context io;
    sagas.LockAsync({"42", Saga{"42"}},
                    asio::bind_executor(io, [](std::exception_ptr, Locked<Saga>) { FAIL(); }));
    clock->RunPending();
    EXPECT_TRUE(IsLocked("42"));
  }
  clock->RunPending();
  EXPECT_FALSE(IsLocked("42"));
}

/// An executor that queues, and whose copies are counted.
class CountedExecutor {
 public:
  using Tasks = std::vector<std::function<void()>>;
  explicit CountedExecutor(std::shared_ptr<Tasks> tasks) : tasks_(std::move(tasks)) {}
  template <class F>
  void execute(F task) const {
    tasks_->push_back([shared = std::make_shared<F>(std::move(task))] { std::move (*shared)(); });
  }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking_t::never;
  }
  friend bool operator==(const CountedExecutor&, const CountedExecutor&) noexcept = default;

 private:
  std::shared_ptr<Tasks> tasks_;
};

/// An operation that the engine lets go of late.
struct KeptOperation {
  using Raw = int;
  using Result = void;
  std::function<void(int)>* kept;

  void Start(const detail::AsyncContext&, std::function<void(int)> done) {
    *kept = std::move(done);
  }
  void Finish(int&&) {}
};

TEST_P(AsyncTest, NothingOfTheHandlerOutlivesItsCall) {
  const auto tasks = std::make_shared<CountedExecutor::Tasks>();
  const auto of_handler = std::make_shared<int>();
  for (const bool run : {true, false}) {
    std::function<void(int)> kept;
    int calls = 0;
    detail::Initiate(manager.engine(), KeptOperation{&kept},
                     asio::bind_executor(CountedExecutor(tasks),
                                         [&calls, of_handler](std::exception_ptr) { ++calls; }));
    kept(7);
    ASSERT_EQ(tasks->size(), 1U);
    if (run) tasks->front()();
    tasks->clear();  // as a context does that is destroyed
    EXPECT_EQ(calls, run ? 1 : 0);
    EXPECT_EQ(tasks.use_count(), 1);
    EXPECT_EQ(of_handler.use_count(), 1);
  }
}

TEST_P(AsyncTest, AContextMayGoOnceTheHandlersOfItsStrandWereCalled) {
  LockManager real(store);
  const LockingRepository<Saga> others(real, "sagas");
  for (int i = 0; i < 200; ++i) {
    asio::io_context io;
    bool called = false;
    others.FindAsync(
        "42", asio::bind_executor(
                  asio::make_strand(io),
                  [&](std::exception_ptr, std::optional<Snapshot<Saga>>) { called = true; }));
    io.run();
    EXPECT_TRUE(called);
  }
}

TEST_P(AsyncTest, CancellationAfterTheEndDoesNothing) {
  asio::cancellation_signal signal;
  Outcome<Locked<Saga>> outcome;
  sagas.LockAsync({"42", Saga{"42"}},
                  asio::bind_cancellation_slot(signal.slot(), outcome.Callback()));
  clock->RunPending();
  EXPECT_FALSE(signal.slot().has_handler());
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_TRUE(outcome.result.held());
}

TEST_P(AsyncTest, CancellationEndsLockAllLockNextAndUpdate) {
  auto held = sagas.Lock({"42", Saga{"42"}});
  asio::cancellation_signal all_signal, next_signal, update_signal;
  Outcome<std::vector<Locked<Saga>>> all;
  Outcome<Locked<Saga>> next;
  std::optional<Errc> update;
  sagas.LockAllAsync({"42"}, {.wait = kForever},
                     asio::bind_cancellation_slot(all_signal.slot(), all.Callback()));
  sagas.LockNextAsync(Filter{}, {.wait = kForever},
                      asio::bind_cancellation_slot(next_signal.slot(), next.Callback()));
  sagas.UpdateAsync(
      "42", [](Saga&) {},
      asio::bind_cancellation_slot(update_signal.slot(), [&](std::exception_ptr error) {
        update = CodeOf([&] { std::rethrow_exception(error); });
      }));
  clock->Advance(3s);
  all_signal.emit(asio::cancellation_type::terminal);
  next_signal.emit(asio::cancellation_type::partial);
  update_signal.emit(asio::cancellation_type::total);
  clock->RunPending();
  EXPECT_EQ(all.code(), Errc::kCancelled);
  EXPECT_EQ(next.code(), Errc::kCancelled);
  EXPECT_EQ(update, Errc::kCancelled);
}

TEST_P(AsyncTest, ADeferredOperationStartsWhenItIsCalled) {
  auto operation = sagas.LockAsync({"42", Saga{"42"}}, asio::deferred);
  clock->RunPending();
  EXPECT_FALSE(Stored("42"));
  Outcome<Locked<Saga>> outcome;
  std::move(operation)(outcome.Callback());
  clock->RunPending();
  EXPECT_TRUE(outcome.result.held());
}

}  // namespace
}  // namespace doclock
