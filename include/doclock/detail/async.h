#pragma once

/// @file
/// Operations, and completion tokens for them. Not for users.

#include <atomic>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/detail/facade.h"

namespace doclock::detail {

template <class R>
struct SignatureOf {
  using type = void(std::exception_ptr, R);
};
template <>
struct SignatureOf<void> {
  using type = void(std::exception_ptr);
};
template <class R>
using Signature = typename SignatureOf<R>::type;

using DefaultToken = boost::asio::use_future_t<>;

/// Is this a completion token for an R? Options and entities are none.
template <class Token, class R>
concept TokenFor = !std::same_as<std::remove_cvref_t<Token>, LockOptions> &&
                   boost::asio::completion_token_for<std::remove_cvref_t<Token>, Signature<R>>;

template <class Token>
inline constexpr bool kIsUseFuture = false;
template <class Allocator>
inline constexpr bool kIsUseFuture<boost::asio::use_future_t<Allocator>> = true;

/// Runs the handlers that name no executor.
class NotifierExecutor {
 public:
  explicit NotifierExecutor(EnginePtr engine) noexcept : engine_(std::move(engine)) {}

  template <class F>
  void execute(F task) const {
    auto shared = std::make_shared<F>(std::move(task));
    RunOnNotifier(engine_, [shared]() noexcept { std::move (*shared)(); });
  }
  friend bool operator==(const NotifierExecutor&, const NotifierExecutor&) noexcept = default;

 private:
  EnginePtr engine_;
};

/// An executor that keeps its context from running out of work.
template <class Executor>
using Tracked = std::decay_t<decltype(boost::asio::prefer(
    std::declval<const Executor&>(), boost::asio::execution::outstanding_work.tracked))>;

template <class Executor, class F>
void PostTo(const Executor& tracked, F task) {
  if constexpr (std::same_as<Executor, NotifierExecutor>) {
    tracked.execute(std::move(task));
  } else {
    // The user may destroy the context once run() has returned. This copy keeps run() from
    // returning while this thread is in post(). (A work guard destroys its copy of the executor too
    // late.)
    const Executor mine = tracked;
    boost::asio::post(mine, std::move(task));
  }
}

/// PostTo, although memory has run out for a moment: the caller that waits for the task should get
/// it. An executor that took the task and threw may run it twice. This thread is the library's, so
/// there is no caller to throw to.
template <class Executor, class F>
void PostSurely(const Executor& tracked, const F& task) noexcept {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    try {
      return PostTo(tracked, task);
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(i));
    } catch (...) {
      return;
    }
  }
}

/// Calls `finish`, and `complete` with its result or exception.
template <class Result, class Finish, class Complete>
void Settle(const Finish& finish, const Complete& complete) {
  std::exception_ptr error;
  if constexpr (std::is_void_v<Result>) {
    try {
      finish();
    } catch (...) {
      error = std::current_exception();
    }
    complete(std::move(error));
  } else {
    std::optional<Result> result;
    try {
      result.emplace(finish());
    } catch (...) {
      error = std::current_exception();
      result.emplace();
    }
    complete(std::move(error), std::move(*result));
  }
}

/// use_future does not need Asio's machinery: the engine's completion settles the promise.
template <class Op>
std::future<typename Op::Result> StartWithFuture(const EnginePtr& engine, Op op) {
  using Result = typename Op::Result;
  struct State {
    explicit State(Op o) : op(std::move(o)) {}
    Op op;
    std::promise<Result> promise;
  };
  auto state = std::make_shared<State>(std::move(op));
  auto future = state->promise.get_future();
  auto done = [state](typename Op::Raw raw) {
    try {
      if constexpr (std::is_void_v<Result>) {
        state->op.Finish(std::move(raw));
        state->promise.set_value();
      } else {
        state->promise.set_value(state->op.Finish(std::move(raw)));
      }
    } catch (...) {
      state->promise.set_exception(std::current_exception());
    }
  };
  const AsyncContext context{std::make_shared<Canceller>(), [engine](std::function<void()> task) {
                               RunOnNotifier(engine, std::move(task));
                             }};
  state->op.Start(context, std::move(done));
  return future;
}

/// One operation under way for an Asio handler.
template <class Op, class Handler>
class AsyncState : public std::enable_shared_from_this<AsyncState<Op, Handler>> {
 public:
  AsyncState(const EnginePtr& engine, Op op, Handler handler)
      : op_(std::move(op)), parts_(std::make_shared<Parts>(engine, std::move(handler))) {}

  void Start() {
    auto canceller = std::make_shared<Canceller>();
    ConnectSlot(canceller);
    auto self = this->shared_from_this();
    const AsyncContext context{std::move(canceller), [self](std::function<void()> task) {
                                 PostTo(*self->parts_->executor, std::move(task));
                               }};
    op_.Start(context, [self](typename Op::Raw raw) { self->Deliver(std::move(raw)); });
  }

 private:
  using Executor = Tracked<boost::asio::associated_executor_t<Handler, NotifierExecutor>>;
  using Raw = typename Op::Raw;

  /// What must be destroyed before the handler's context. The executor goes last.
  struct Parts {
    Parts(const EnginePtr& engine, Handler h)
        : executor(
              boost::asio::prefer(boost::asio::get_associated_executor(h, NotifierExecutor(engine)),
                                  boost::asio::execution::outstanding_work.tracked)),
          handler(std::move(h)) {}
    std::optional<Executor> executor;
    std::optional<Handler> handler;
    std::optional<Raw> raw;
    std::atomic<bool> called = false;
  };

  /// Called before the operation starts, because the operation may complete, and clear the slot,
  /// while this thread still is in Start.
  void ConnectSlot(const CancellerPtr& canceller) {
    auto slot = boost::asio::get_associated_cancellation_slot(*parts_->handler);
    if (!slot.is_connected()) return;
    slot.assign([canceller](boost::asio::cancellation_type type) {
      if (type != boost::asio::cancellation_type::none) canceller->Cancel();
    });
  }

  /// Gives the parts away with the task: if the context is destroyed before it runs the task, or
  /// throws instead of taking it, they are destroyed with it, and the handler is not called.
  void Deliver(Raw raw) noexcept {
    const Executor executor = *parts_->executor;  // destroyed last; see PostTo
    const std::shared_ptr<Parts> parts = std::move(parts_);
    parts->raw.emplace(std::move(raw));
    PostSurely(executor, [self = this->shared_from_this(), parts] {
      if (!parts->called.exchange(true)) self->Complete(*parts);
    });
  }

  /// Runs on the handler's executor. The handler may destroy its own context.
  void Complete(Parts& parts) {
    // Taken out, because an executor may keep its task.
    [[maybe_unused]] const auto executor = std::exchange(parts.executor, std::nullopt);
    auto handler = std::exchange(parts.handler, std::nullopt);
    auto raw = std::exchange(parts.raw, std::nullopt);
    auto slot = boost::asio::get_associated_cancellation_slot(*handler);
    if (slot.is_connected()) slot.clear();
    Settle<typename Op::Result>([&] { return op_.Finish(std::move(*raw)); },
                                [&](auto&&... results) {
                                  std::move (*handler)(std::forward<decltype(results)>(results)...);
                                });
  }

  Op op_;
  std::shared_ptr<Parts> parts_;
};

struct Initiation {
  template <class Handler, class Op>
  void operator()(Handler&& handler, EnginePtr engine, Op op) const {
    using State = AsyncState<Op, std::decay_t<Handler>>;
    std::make_shared<State>(engine, std::move(op), std::forward<Handler>(handler))->Start();
  }
};

/// Starts an operation as the token asks.
template <class Op, class Token>
auto Initiate(const EnginePtr& engine, Op op, Token&& token) {
  if constexpr (kIsUseFuture<std::remove_cvref_t<Token>>) {
    return StartWithFuture(engine, std::move(op));
  } else {
    return boost::asio::async_initiate<Token, Signature<typename Op::Result>>(
        Initiation{}, token, engine, std::move(op));
  }
}

/// Does an operation on the caller's thread.
template <class Op, class... Stop>
typename Op::Result RunHere(Op op, Stop... stop) {
  return op.Finish(op.Run(std::move(stop)...));
}

/// Acquires a lock. `Wrap` turns the Grant into a handle, and has the binding.
template <class Wrap>
struct LockOperation {
  using Raw = AcquireResult;
  using Result = decltype(std::declval<const Wrap&>()(std::declval<Grant>()));
  AcquireSpec spec;
  Wrap wrap;
  bool next = false;

  AcquireResult Run(std::stop_token stop) {
    const EnginePtr& engine = wrap.binding->engine;
    return next ? AcquireNext(engine, std::move(spec), std::move(stop))
                : Acquire(engine, std::move(spec), std::move(stop));
  }
  void Start(const AsyncContext& context, AcquireDone done) {
    const EnginePtr& engine = wrap.binding->engine;
    context.canceller->Follow(next ? AcquireNextAsync(engine, std::move(spec), std::move(done))
                                   : AcquireAsync(engine, std::move(spec), std::move(done)));
  }
  Result Finish(Raw&& raw) {
    next ? ThrowIfNext(raw.failure) : ThrowIf(raw.failure);
    return wrap(std::move(raw.grant));
  }
};

/// Takes a lock, with nothing as the result if the lock is busy.
template <class Wrap>
struct TryLockOperation : LockOperation<Wrap> {
  using Result = std::optional<typename LockOperation<Wrap>::Result>;

  Result Finish(AcquireResult&& raw) {
    if (this->next ? IsNothingFree(raw.failure) : IsBusy(raw.failure)) return std::nullopt;
    return LockOperation<Wrap>::Finish(std::move(raw));
  }
};
template <class Wrap>
TryLockOperation(LockOperation<Wrap>) -> TryLockOperation<Wrap>;

template <class Wrap>
struct LockAllOperation {
  using Raw = AcquireAllResult;
  using Handle = decltype(std::declval<const Wrap&>()(std::declval<Grant>()));
  using Result = std::vector<Handle>;
  std::vector<AcquireSpec> specs;
  Wrap wrap;

  AcquireAllResult Run(std::stop_token stop) {
    return AcquireAll(wrap.binding->engine, std::move(specs), std::move(stop));
  }
  void Start(const AsyncContext& context, std::function<void(AcquireAllResult)> done) {
    AcquireAllAsync(wrap.binding->engine, std::move(specs), context, std::move(done));
  }
  Result Finish(Raw&& raw) {
    ThrowIf(raw.failure);
    Result handles;
    handles.reserve(raw.grants.size());
    for (Grant& grant : raw.grants) handles.push_back(wrap(std::move(grant)));
    return handles;
  }
};

/// An operation that takes several locks, with nothing as the result if one is busy.
template <class Op>
struct TryAllOperation : Op {
  using Result = std::optional<typename Op::Result>;

  Result Finish(AcquireAllResult&& raw) {
    if (IsBusy(raw.failure)) return std::nullopt;
    return Op::Finish(std::move(raw));
  }
};
template <class Op>
TryAllOperation(Op) -> TryAllOperation<Op>;

/// Changes or ends a lock that is held. `After` updates the handle once that succeeded.
template <class After>
struct LeaseOperation {
  using Raw = FailurePtr;
  using Result = void;
  LeasePtr lease;
  After after;

  void Finish(Raw&& failure) {
    ThrowIf(failure);
    after();
  }
};

template <class After>
struct WriteOperation : LeaseOperation<After> {
  WriteKind kind = WriteKind::kRelease;
  Body body;

  void Start(const AsyncContext&, WriteDone done) {
    WriteAsync(this->lease, kind, std::move(body), std::move(done));
  }
};

template <class After>
struct RenewOperation : LeaseOperation<After> {
  std::chrono::milliseconds ttl{};

  void Start(const AsyncContext&, WriteDone done) { RenewAsync(this->lease, ttl, std::move(done)); }
};

template <class After>
struct DetachOperation : LeaseOperation<After> {
  void Start(const AsyncContext&, WriteDone done) { DetachAsync(this->lease, std::move(done)); }
};

struct ValueReleaseOperation {
  using Raw = FailurePtr;
  using Result = void;
  EnginePtr engine;
  ValueRelease release;

  FailurePtr Run() { return ReleaseByValue(engine, std::move(release)); }
  void Start(const AsyncContext&, WriteDone done) {
    ReleaseByValueAsync(engine, std::move(release), std::move(done));
  }
  void Finish(Raw&& failure) { ThrowIf(failure); }
};

template <class Wrap>
struct ReadOperation {
  using Raw = ReadResult;
  using Result = std::optional<decltype(std::declval<const Wrap&>()(std::declval<QueryRow>()))>;
  Key key;
  Wrap wrap;

  ReadResult Run() { return Read(wrap.binding->engine, *wrap.binding->collection, key); }
  void Start(const AsyncContext&, ReadDone done) {
    ReadAsync(wrap.binding->engine, *wrap.binding->collection, key, std::move(done));
  }
  Result Finish(Raw&& raw) {
    if (IsMissing(raw.failure)) return std::nullopt;
    ThrowIf(raw.failure);
    return wrap(QueryRow{std::move(key), std::move(raw.body), raw.version, raw.born, raw.locked});
  }
};

template <class Wrap>
struct QueryOperation {
  using Raw = QueryResult;
  using Result = std::vector<decltype(std::declval<const Wrap&>()(std::declval<QueryRow>()))>;
  Filter filter;
  Wrap wrap;

  QueryResult Run() {
    return {nullptr, QueryAtOnce(wrap.binding->engine, *wrap.binding->collection, filter)};
  }
  void Start(const AsyncContext&, std::function<void(QueryResult)> done) {
    QueryAsync(wrap.binding->engine, *wrap.binding->collection, std::move(filter), std::move(done));
  }
  Result Finish(Raw&& raw) {
    ThrowIf(raw.failure);
    Result rows;
    rows.reserve(raw.rows.size());
    for (QueryRow& row : raw.rows) rows.push_back(wrap(std::move(row)));
    return rows;
  }
};

/// A write without a lock. `After` makes the result from the store's reply.
template <class After>
struct SaveOperation {
  using Raw = SaveResult;
  using Result = decltype(std::declval<After&>()(std::declval<const SaveResult&>()));
  EnginePtr engine;
  SaveSpec spec;
  After after;

  SaveResult Run() { return Save(engine, std::move(spec)); }
  void Start(const AsyncContext&, SaveDone done) {
    SaveAsync(engine, std::move(spec), std::move(done));
  }
  Result Finish(Raw&& raw) { return after(raw); }
};

struct UpdateOperation {
  using Raw = std::exception_ptr;
  using Result = void;
  BindingPtr binding;
  UpdateSpec update;

  void Start(const AsyncContext& context, std::function<void(std::exception_ptr)> done) {
    UpdateDocumentAsync(binding, std::move(update), context, std::move(done));
  }
  void Finish(Raw&& error) {
    if (error) std::rethrow_exception(std::move(error));
  }
};

}  // namespace doclock::detail
