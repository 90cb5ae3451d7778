#include "histories/worker/broken_store.h"

#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "histories/worker/passing_store.h"

namespace doclock::histories {
namespace {

using namespace std::chrono_literals;

class RenewsBlindly final : public PassingStore {
  using PassingStore::PassingStore;
  void ExecuteOne(RenewOp& op, Budget) override { op.status = OpStatus::kDone; }
};

class ReadsStale final : public PassingStore {
  using PassingStore::PassingStore;
  void ExecuteOne(ReadOp& op, Budget budget) override {
    Pass(op, budget);
    if (op.status != OpStatus::kDone) return;
    const std::lock_guard guard(mutex_);
    const auto [seen, first] = seen_.try_emplace(*op.key, op.result.body, op.result.version);
    if (first) return;
    op.result.body = seen->second.first;
    op.result.version = seen->second.second;
  }

  std::mutex mutex_;
  std::map<Key, std::pair<Body, std::int64_t>> seen_;
};

class DeniesWrites final : public PassingStore {
  using PassingStore::PassingStore;
  void ExecuteOne(WriteOp& op, Budget budget) override {
    Pass(op, budget);
    if (op.status == OpStatus::kDone && op.request.body && ++count_ % 5 == 0) {
      op.Fail(Errc::kRefused, "denied");
    }
  }

  std::atomic<int> count_ = 0;
};

class FreesRefused final : public PassingStore {
  using PassingStore::PassingStore;
  void ExecuteOne(WriteOp& op, Budget budget) override {
    if (!op.request.body || ++count_ % 5 != 0) return Pass(op, budget);
    Free(op, budget);
    op.Fail(Errc::kRefused, "refused");
  }

  std::atomic<int> count_ = 0;
};

class SplitsCommits final : public PassingStore {
  using PassingStore::PassingStore;
  void Commit(CommitOp& commit, Budget budget) override {
    for (StoreOp* const op : commit.ops) op->MakePending();
    for (StoreOp* const op : commit.ops) {
      Pass(*op, budget);
      if (op->status != OpStatus::kDone) return;
      std::this_thread::sleep_for(2ms);
    }
  }
};

class DeniesCommits final : public PassingStore {
  using PassingStore::PassingStore;
  void Commit(CommitOp& commit, Budget budget) override {
    PassingStore::Commit(commit, budget);
    if (commit.ops.front()->status != OpStatus::kDone || ++count_ % 5 != 0) return;
    for (StoreOp* const op : commit.ops) op->Fail(Errc::kRefused, "denied");
  }

  std::atomic<int> count_ = 0;
};

class ForgetsExpected final : public PassingStore {
  using PassingStore::PassingStore;
  void Commit(CommitOp& commit, Budget budget) override {
    std::vector<StoreOp*> writes;
    for (StoreOp* const op : commit.ops) {
      if (IsWrite(*op)) writes.push_back(op);
    }
    if (writes.size() < commit.ops.size()) std::this_thread::sleep_for(10ms);
    const auto all = std::exchange(commit.ops, writes);
    PassingStore::Commit(commit, budget);
    commit.ops = all;
    for (StoreOp* const op : all) {
      if (!IsWrite(*op)) op->status = writes.front()->status;
    }
  }
  static bool IsWrite(const StoreOp& op) {
    return op.kind != OpKind::kSave || static_cast<const SaveOp&>(op).request.Writes();
  }
};

class ReadsInTurn final : public PassingStore {
  using PassingStore::PassingStore;
  void ReadTogether(std::span<StoreOp* const> reads, Budget budget) override {
    for (StoreOp* const read : reads) {
      Pass(*read, budget);
      std::this_thread::sleep_for(2ms);
    }
  }
};

class OneShareMore final : public PassingStore {
  using PassingStore::PassingStore;
  void ExecuteOne(AcquireOp& op, Budget budget) override {
    if (op.request.grant.mode == LockMode::kShared) ++op.request.grant.max_holders;
    Pass(op, budget);
  }
};

/// As a store without lock id and version in its writes, asked by a holder whose clock runs slow.
class WritesLate final : public PassingStore {
  using PassingStore::PassingStore;
  void ExecuteOne(WriteOp& op, Budget budget) override {
    if (op.request.write == WriteKind::kRelease && op.request.body && ++count_ % 10 == 0) {
      Free(op, budget);
      std::this_thread::sleep_for(300ms);
    }
    Pass(op, budget);
    if (op.status == OpStatus::kLost && op.request.body) WriteAnyway(op, budget);
  }

  void WriteAnyway(WriteOp& op, Budget budget) {
    ReadOp read(*op.collection, *op.key);
    Pass(read, budget);
    WriteOp write(*op.collection, *op.key);
    write.request.write = WriteKind::kCheckpoint;
    write.request.lock_id = read.result.lock_id;
    write.request.expected = read.result.version;
    write.request.body = op.request.body;
    write.request.ttl = 1s;
    Pass(write, budget);
    if (write.status == OpStatus::kDone) {
      op.status = OpStatus::kDone;
      op.result.version = write.result.version;
    }
  }

  std::atomic<int> count_ = 0;
};

/// As a store that loses the entries of its queue.
class ForgetsEntries final : public PassingStore {
  using PassingStore::PassingStore;
  void ExecuteOne(AcquireOp& op, Budget budget) override {
    const bool waits = op.request.grant.queue_for.count() > 0;
    op.request.grant.queue_for = {};
    Pass(op, budget);
    op.result.queued = waits && op.status == OpStatus::kBusy;
  }
};

class KeepsReleased final : public PassingStore {
  using PassingStore::PassingStore;
  void ExecuteOne(WriteOp& op, Budget budget) override {
    const bool keeps = op.request.write == WriteKind::kRelease && op.request.body &&
                       op.request.next == nullptr && ++count_ == 5;
    if (keeps) {
      op.request.write = WriteKind::kCheckpoint;
      op.request.ttl = 4s;
    }
    Pass(op, budget);
    if (keeps) op.request.write = WriteKind::kRelease;
  }

  std::atomic<int> count_ = 0;
};

}  // namespace

std::shared_ptr<Store> Break(std::shared_ptr<Store> store, const std::string& how) {
  if (how == "renews-blindly") return std::make_shared<RenewsBlindly>(std::move(store));
  if (how == "reads-stale") return std::make_shared<ReadsStale>(std::move(store));
  if (how == "denies-writes") return std::make_shared<DeniesWrites>(std::move(store));
  if (how == "frees-refused") return std::make_shared<FreesRefused>(std::move(store));
  if (how == "splits-commits") return std::make_shared<SplitsCommits>(std::move(store));
  if (how == "denies-commits") return std::make_shared<DeniesCommits>(std::move(store));
  if (how == "forgets-expected") return std::make_shared<ForgetsExpected>(std::move(store));
  if (how == "reads-in-turn") return std::make_shared<ReadsInTurn>(std::move(store));
  if (how == "one-share-more") return std::make_shared<OneShareMore>(std::move(store));
  if (how == "writes-late") return std::make_shared<WritesLate>(std::move(store));
  if (how == "forgets-entries") return std::make_shared<ForgetsEntries>(std::move(store));
  if (how == "keeps-released") return std::make_shared<KeepsReleased>(std::move(store));
  throw std::invalid_argument("no store breaks in this way: " + how);
}

}  // namespace doclock::histories
