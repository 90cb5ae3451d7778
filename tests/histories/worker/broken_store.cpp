#include "histories/worker/broken_store.h"

#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace doclock::histories {
namespace {

using namespace std::chrono_literals;

/// Passes all on; each way to break it changes one thing.
class BrokenStore : public Store {
 public:
  explicit BrokenStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

  StoreTraits traits() const noexcept override { return inner_->traits(); }
  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    return inner_->Open(name, fields, default_ttl);
  }
  std::shared_ptr<Collection> Find(const std::string& name) const override {
    return inner_->Find(name);
  }
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    for (StoreOp* const op : ops) {
      Visit(*op, [&](auto& one) { ExecuteOne(one, budget); });
    }
  }
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override {
    inner_->Query(collection, filter, sink, budget);
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override {
    inner_->AcquireNext(filter, op, key, budget);
  }
  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    inner_->EnsureIndex(collection, index);
  }
  std::int64_t Purge(Collection& collection, std::int64_t limit,
                     std::chrono::milliseconds budget) override {
    return inner_->Purge(collection, limit, budget);
  }
  std::unique_ptr<Subscription> Watch(
      Collection& collection, std::function<void(std::optional<std::size_t>)> hint) override {
    return inner_->Watch(collection, std::move(hint));
  }
  bool OthersMayWait(Collection& collection) const noexcept override {
    return inner_->OthersMayWait(collection);
  }
  void Intervene(Collection& collection, const Key& key, Intervention what) override {
    inner_->Intervene(collection, key, what);
  }

 protected:
  using Budget = std::chrono::milliseconds;
  virtual void ExecuteOne(AcquireOp& op, Budget budget) { Pass(op, budget); }
  virtual void ExecuteOne(RenewOp& op, Budget budget) { Pass(op, budget); }
  virtual void ExecuteOne(WriteOp& op, Budget budget) { Pass(op, budget); }
  virtual void ExecuteOne(SaveOp& op, Budget budget) { Pass(op, budget); }
  virtual void ExecuteOne(ReadOp& op, Budget budget) { Pass(op, budget); }

  void Pass(StoreOp& op, Budget budget) {
    StoreOp* const one[] = {&op};
    inner_->Execute(one, budget);
  }

 private:
  std::shared_ptr<Store> inner_;
};

class RenewsBlindly final : public BrokenStore {
  using BrokenStore::BrokenStore;
  void ExecuteOne(RenewOp& op, Budget) override { op.status = OpStatus::kDone; }
};

class ReadsStale final : public BrokenStore {
  using BrokenStore::BrokenStore;
  void ExecuteOne(ReadOp& op, Budget budget) override {
    Pass(op, budget);
    if (op.status != OpStatus::kDone) return;
    const std::lock_guard guard(mutex_);
    const auto [seen, first] = seen_.try_emplace(*op.key, op.body, op.version);
    if (first) return;
    op.body = seen->second.first;
    op.version = seen->second.second;
  }

  std::mutex mutex_;
  std::map<Key, std::pair<Body, std::int64_t>> seen_;
};

class DeniesWrites final : public BrokenStore {
  using BrokenStore::BrokenStore;
  void ExecuteOne(WriteOp& op, Budget budget) override {
    Pass(op, budget);
    if (op.status == OpStatus::kDone && op.body && ++count_ % 5 == 0) {
      op.Fail(Errc::kRefused, "denied");
    }
  }

  std::atomic<int> count_ = 0;
};

class FreesRefused final : public BrokenStore {
  using BrokenStore::BrokenStore;
  void ExecuteOne(WriteOp& op, Budget budget) override {
    if (!op.body || ++count_ % 5 != 0) return Pass(op, budget);
    Intervene(*op.collection, *op.key, Intervention::kBreak);
    op.Fail(Errc::kRefused, "refused");
  }

  std::atomic<int> count_ = 0;
};

class OneShareMore final : public BrokenStore {
  using BrokenStore::BrokenStore;
  void ExecuteOne(AcquireOp& op, Budget budget) override {
    if (op.grant.mode == LockMode::kShared) ++op.grant.max_holders;
    Pass(op, budget);
  }
};

/// As a store without lock id and version in its writes, asked by a holder whose clock runs slow.
class WritesLate final : public BrokenStore {
  using BrokenStore::BrokenStore;
  void ExecuteOne(WriteOp& op, Budget budget) override {
    if (op.write == WriteKind::kRelease && op.body && ++count_ % 10 == 0) {
      Intervene(*op.collection, *op.key, Intervention::kExpire);
      std::this_thread::sleep_for(300ms);
    }
    Pass(op, budget);
    if (op.status == OpStatus::kLost && op.body) WriteAnyway(op, budget);
  }

  void WriteAnyway(WriteOp& op, Budget budget) {
    ReadOp read(*op.collection, *op.key);
    Pass(read, budget);
    WriteOp write(*op.collection, *op.key);
    write.write = WriteKind::kCheckpoint;
    write.lock_id = read.lock_id;
    write.expected = read.version;
    write.body = op.body;
    write.ttl = 1s;
    Pass(write, budget);
    if (write.status == OpStatus::kDone) {
      op.status = OpStatus::kDone;
      op.version = write.version;
    }
  }

  std::atomic<int> count_ = 0;
};

}  // namespace

std::shared_ptr<Store> Break(std::shared_ptr<Store> store, const std::string& how) {
  if (how == "renews-blindly") return std::make_shared<RenewsBlindly>(std::move(store));
  if (how == "reads-stale") return std::make_shared<ReadsStale>(std::move(store));
  if (how == "denies-writes") return std::make_shared<DeniesWrites>(std::move(store));
  if (how == "frees-refused") return std::make_shared<FreesRefused>(std::move(store));
  if (how == "one-share-more") return std::make_shared<OneShareMore>(std::move(store));
  if (how == "writes-late") return std::make_shared<WritesLate>(std::move(store));
  throw std::invalid_argument("no store breaks in this way: " + how);
}

}  // namespace doclock::histories
