#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "doclock/detail/async.h"

/// @file
/// The asynchronous operations of the facade; see async.h for their form. Not for users.

namespace doclock::detail {

/// Acquires a lock. `Wrap` turns the Grant into a handle.
template <class Wrap>
struct LockOperation {
  using Raw = AcquireResult;
  using Result = decltype(std::declval<const Wrap&>()(std::declval<Grant>()));
  BindingPtr binding;
  AcquireSpec spec;
  Wrap wrap;
  bool next = false;

  void Start(const AsyncContext& context, AcquireDone done) {
    context.canceller->Follow(
        next ? AcquireNextAsync(binding->engine, std::move(spec), std::move(done))
             : AcquireAsync(binding->engine, std::move(spec), std::move(done)));
  }
  Result Finish(Raw&& raw) {
    next ? ThrowIfNext(raw.failure) : ThrowIf(raw.failure);
    return wrap(std::move(raw.grant));
  }
};

/// The same, with nothing as the result if the lock is busy.
template <class Wrap>
struct TryLockOperation : LockOperation<Wrap> {
  using Result = std::optional<typename LockOperation<Wrap>::Result>;

  Result Finish(AcquireResult&& raw) {
    if (this->next ? IsNothingFree(raw.failure) : IsBusy(raw.failure)) return std::nullopt;
    return LockOperation<Wrap>::Finish(std::move(raw));
  }
};

template <class Wrap>
struct LockAllOperation {
  using Raw = AcquireAllResult;
  using Handle = decltype(std::declval<const Wrap&>()(std::declval<Grant>()));
  using Result = std::vector<Handle>;
  BindingPtr binding;
  std::vector<AcquireSpec> specs;
  Wrap wrap;

  [[nodiscard]] const EnginePtr& engine() const noexcept { return binding->engine; }
  void Start(const AsyncContext& context, std::function<void(AcquireAllResult)> done) {
    AcquireAllAsync(binding->engine, std::move(specs), context, std::move(done));
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

/// Takes several locks on the caller's thread.
template <class Op>
typename Op::Result LockHere(Op op, std::stop_token stop) {
  return op.Finish(AcquireAll(op.engine(), std::move(op.specs), std::move(stop)));
}

/// A write under a lock. `After` updates the handle once the write succeeded.
template <class After>
struct WriteOperation {
  using Raw = FailurePtr;
  using Result = void;
  LeasePtr lease;
  WriteKind kind = WriteKind::kRelease;
  Body body;
  After after;

  void Start(const AsyncContext&, WriteDone done) {
    WriteAsync(lease, kind, std::move(body), std::move(done));
  }
  void Finish(Raw&& failure) {
    ThrowIf(failure);
    after();
  }
};

template <class After>
struct RenewOperation {
  using Raw = FailurePtr;
  using Result = void;
  LeasePtr lease;
  std::chrono::milliseconds ttl{};
  After after;

  void Start(const AsyncContext&, WriteDone done) { RenewAsync(lease, ttl, std::move(done)); }
  void Finish(Raw&& failure) {
    ThrowIf(failure);
    after();
  }
};

template <class After>
struct DetachOperation {
  using Raw = FailurePtr;
  using Result = void;
  LeasePtr lease;
  After after;

  void Start(const AsyncContext&, WriteDone done) { DetachAsync(lease, std::move(done)); }
  void Finish(Raw&& failure) {
    ThrowIf(failure);
    after();
  }
};

struct ValueReleaseOperation {
  using Raw = FailurePtr;
  using Result = void;
  EnginePtr engine;
  ValueRelease release;

  void Start(const AsyncContext&, WriteDone done) {
    ReleaseByValueAsync(engine, std::move(release), std::move(done));
  }
  void Finish(Raw&& failure) { ThrowIf(failure); }
};

template <class Wrap>
struct ReadOperation {
  using Raw = ReadResult;
  using Result = std::optional<decltype(std::declval<const Wrap&>()(std::declval<QueryRow>()))>;
  BindingPtr binding;
  Key key;
  Wrap wrap;

  void Start(const AsyncContext&, ReadDone done) {
    ReadAsync(binding->engine, *binding->collection, key, std::move(done));
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
  BindingPtr binding;
  Filter filter;
  Wrap wrap;

  void Start(const AsyncContext&, std::function<void(QueryResult)> done) {
    QueryAsync(binding->engine, *binding->collection, std::move(filter), std::move(done));
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
