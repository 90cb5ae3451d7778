#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "mongodb/support/client.h"

namespace doclock::mongo_test {

/// Operations of one call of the store.
class Calls {
 public:
  explicit Calls(Client& client) : client_(client) {}

  AcquireOp& Acquire(const std::string& key, Body insert = {}) {
    AcquireOp& op = acquires_.emplace_back(client_.collection(), keys_.emplace_back(key));
    op.grant.lock_id = NewUuid();
    op.grant.ttl = kTtl;
    op.insert = std::move(insert);
    return Added(op);
  }
  WriteOp& Write(WriteKind kind, const std::string& key, const AcquireOp& held, Body body = {}) {
    WriteOp& op = writes_.emplace_back(client_.collection(), keys_.emplace_back(key));
    op.write = kind;
    op.lock_id = held.grant.lock_id;
    op.expected = held.version;
    op.born = held.born;
    op.body = std::move(body);
    op.ttl = kTtl;
    return Added(op);
  }
  SaveOp& Save(SaveKind kind, const std::string& key, const AcquireOp& known, Body body = {}) {
    SaveOp& op = saves_.emplace_back(client_.collection(), keys_.emplace_back(key));
    op.save = kind;
    op.expected = known.version;
    op.born = known.born;
    op.write_id = NewUuid();
    op.body = std::move(body);
    return Added(op);
  }
  ReadOp& Read(const std::string& key) {
    return Added(reads_.emplace_back(client_.collection(), keys_.emplace_back(key)));
  }
  RenewOp& Renew(const std::string& key, const Uuid& id, std::chrono::milliseconds ttl) {
    RenewOp& op = renewals_.emplace_back(client_.collection(), keys_.emplace_back(key));
    op.lock_id = id;
    op.ttl = ttl;
    return Added(op);
  }
  std::chrono::nanoseconds Execute(std::chrono::milliseconds budget = 1min) {
    const auto start = std::chrono::steady_clock::now();
    client_.store().Execute(ops_, budget);
    return std::chrono::steady_clock::now() - start;
  }

 private:
  template <class Op>
  Op& Added(Op& op) {
    ops_.push_back(&op);
    return op;
  }

  Client& client_;
  std::deque<Key> keys_;
  std::deque<AcquireOp> acquires_;
  std::deque<WriteOp> writes_;
  std::deque<SaveOp> saves_;
  std::deque<ReadOp> reads_;
  std::deque<RenewOp> renewals_;
  std::vector<StoreOp*> ops_;
};

}  // namespace doclock::mongo_test
