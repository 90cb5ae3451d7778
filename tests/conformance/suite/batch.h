#pragma once

#include <chrono>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "doclock/store/store.h"

namespace doclock::conformance {

/// Operations of one call of a store, which live as long as this.
class Batch {
 public:
  /// Of a client's store and collection.
  template <class Client>
  explicit Batch(Client& client) : store_(client.store()), collection_(client.collection()) {}

  AcquireOp& Acquire(const Key& key, Body insert = {}) {
    auto& op = Add<AcquireOp>(collection_, key);
    op.request.grant.lock_id = NewUuid();
    op.request.grant.ttl = kTtl;
    op.request.insert = std::move(insert);
    return op;
  }
  WriteOp& Write(WriteKind kind, const Key& key, const AcquireOp& held, Body body = {}) {
    auto& op = Add<WriteOp>(collection_, key);
    op.request.write = kind;
    op.request.lock_id = held.request.grant.lock_id;
    op.request.expected = held.result.version;
    op.request.born = held.result.born;
    op.request.body = std::move(body);
    op.request.ttl = kTtl;
    return op;
  }
  SaveOp& Save(SaveKind kind, const Key& key, const AcquireOp& known, Body body = {}) {
    auto& op = Add<SaveOp>(collection_, key);
    op.request.save = kind;
    op.request.expected = known.result.version;
    op.request.born = known.result.born;
    op.request.write_id = NewUuid();
    op.request.body = std::move(body);
    return op;
  }
  ReadOp& Read(const Key& key) { return Add<ReadOp>(collection_, key); }
  RenewOp& Renew(const Key& key, const Uuid& id, std::chrono::milliseconds ttl = kTtl) {
    auto& op = Add<RenewOp>(collection_, key);
    op.request.lock_id = id;
    op.request.ttl = ttl;
    return op;
  }
  template <class Op>
  Op& Add(Collection& collection, const Key& key) {
    auto& made = std::get<std::deque<Op>>(made_);
    Op& op = made.emplace_back(collection, keys_.emplace_back(key));
    Add(op);
    return op;
  }
  /// One of the caller's own.
  void Add(StoreOp& op) { ops_.push_back(&op); }

  /// Returns how long it took.
  std::chrono::nanoseconds Execute(std::chrono::milliseconds budget = std::chrono::minutes(2)) {
    const auto start = std::chrono::steady_clock::now();
    store_.Execute(ops_, budget);
    return std::chrono::steady_clock::now() - start;
  }

 protected:
  static constexpr std::chrono::milliseconds kTtl = std::chrono::seconds(30);

  Store& store_;
  std::vector<StoreOp*> ops_;

 private:
  Collection& collection_;
  std::deque<Key> keys_;
  std::tuple<std::deque<AcquireOp>, std::deque<WriteOp>, std::deque<SaveOp>, std::deque<ReadOp>,
             std::deque<RenewOp>>
      made_;
};

}  // namespace doclock::conformance
