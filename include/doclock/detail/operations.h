#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "doclock/detail/async.h"

/// @file
/// The asynchronous operations of the facade; see async.h for their form. Not for users.

namespace doclock::detail {

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
