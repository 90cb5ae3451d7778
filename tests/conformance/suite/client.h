#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "doclock/store/store.h"
#include "doclock/testing/faulty_store.h"

namespace doclock::conformance {

using namespace std::chrono_literals;
using Json = nlohmann::json;

inline constexpr std::chrono::milliseconds kTtl = 30s;
inline constexpr std::chrono::milliseconds kBudget = 2min;

/// Makes a fresh id.
inline Uuid FreshId() { return NewUuid(); }

/// `{}` is an empty document (to nlohmann it is a null).
inline Body MakeBody(Json tree) {
  return Body::FromJson(tree.is_null() ? Json::object() : std::move(tree));
}

/// Why an operation ended as it did, for messages.
inline std::string Why(const StoreOp& op) {
  return std::to_string(static_cast<int>(op.status)) + " " + (op.detail ? op.detail->message : "");
}

/// The options of an acquire.
struct AcquireArgs {
  Uuid id = FreshId();
  Body insert = {};
  std::chrono::milliseconds ttl = kTtl;
  std::string owner = {};
  std::chrono::milliseconds min_hold = 0ms;
  std::string group = {};
  LockMode mode = LockMode::kExclusive;
  int max_holders = kMaxHolders;
  std::chrono::milliseconds queue_for = 0ms;
  bool queue_likely = false;
  bool detached = false;
};

/// The options of a write under the lock.
struct WriteArgs {
  std::int64_t expected = kAnyVersion;
  Body body = {};
  bool merge = false;
  std::chrono::milliseconds ttl = kTtl;
  const GrantRequest* next = nullptr;
  LockMode mode = LockMode::kExclusive;
};

/// Short ways to call a store; most execute one operation. `key` of a result is not to be used.
/// What ends in `Of` makes an operation, which a test may change and execute; its key must outlive
/// it.
class Client {
 public:
  explicit Client(std::shared_ptr<Store> store, const std::string& collection = "things",
                  std::chrono::milliseconds budget = kBudget)
      : store_(std::move(store)),
        collection_(store_->Open(collection, {}, kTtl)),
        budget_(budget) {}

  AcquireOp AcquireOf(const Key& key, const AcquireArgs& args = {}) {
    AcquireOp op(*collection_, key);
    op.request.grant.lock_id = args.id;
    op.request.grant.ttl = args.ttl;
    op.request.grant.min_hold = args.min_hold;
    op.request.grant.group = args.group;
    op.request.grant.mode = args.mode;
    op.request.grant.max_holders = args.max_holders;
    op.request.grant.queue_for = args.queue_for;
    op.request.grant.detached = args.detached;
    op.queue_likely = args.queue_likely;
    if (!args.owner.empty()) {
      LockHolder holder;
      holder.name = args.owner;
      op.request.grant.owner = std::make_shared<const LockHolder>(std::move(holder));
    }
    op.request.insert = args.insert;
    return op;
  }
  RenewOp RenewOf(const Key& key, const Uuid& id, std::chrono::milliseconds ttl = kTtl,
                  LockMode mode = LockMode::kExclusive, bool detached = false) {
    RenewOp op(*collection_, key);
    op.request.lock_id = id;
    op.request.ttl = ttl;
    op.request.mode = mode;
    op.request.detached = detached;
    return op;
  }
  WriteOp WriteOf(const Key& key, WriteKind kind, const Uuid& id, const WriteArgs& args = {}) {
    WriteOp op(*collection_, key);
    op.request.write = kind;
    op.request.lock_id = id;
    op.request.expected = args.expected;
    op.request.body = args.body;
    op.request.merge = args.merge;
    op.request.ttl = args.ttl;
    op.request.next = args.next;
    op.request.mode = args.mode;
    return op;
  }
  WriteOp ReleaseOf(const Key& key, const Uuid& id, const WriteArgs& args = {}) {
    return WriteOf(key, WriteKind::kRelease, id, args);
  }
  SaveOp SaveOf(SaveKind kind, const Key& key, std::int64_t expected = kAnyVersion,
                const Uuid& born = {}, Body body = {}) {
    SaveOp op(*collection_, key);
    op.request.save = kind;
    op.request.expected = expected;
    op.request.born = born;
    op.request.write_id = FreshId();
    op.request.body = std::move(body);
    return op;
  }
  SaveOp InsertOf(const Key& key, Json tree) {
    return SaveOf(SaveKind::kInsert, key, kAnyVersion, {}, MakeBody(std::move(tree)));
  }
  ReadOp ReadOf(const Key& key) { return ReadOp(*collection_, key); }

  AcquireOp Acquire(const Key& key, const AcquireArgs& args = {}) {
    return Done(AcquireOf(key, args));
  }
  AcquireOp Acquire(const Key& key, const Uuid& id, Body insert = {}) {
    return Acquire(key, {.id = id, .insert = std::move(insert)});
  }
  AcquireOp Share(const Key& key, const Uuid& id, int max_holders = kMaxHolders, Body insert = {}) {
    return Acquire(key, {.id = id,
                         .insert = std::move(insert),
                         .mode = LockMode::kShared,
                         .max_holders = max_holders});
  }
  /// An exclusive attempt that leaves an entry in the queue.
  AcquireOp Wait(const Key& key, const Uuid& id) {
    return Acquire(key, {.id = id, .queue_for = kTtl});
  }
  /// As Acquire, makes the document, and throws if it is not granted.
  AcquireOp Create(const Key& key, Json tree = Json::object(), AcquireArgs args = {}) {
    args.insert = MakeBody(std::move(tree));
    AcquireOp op = Acquire(key, args);
    if (op.status != OpStatus::kDone) throw std::logic_error("not created: " + Why(op));
    return op;
  }
  RenewOp Renew(const Key& key, const Uuid& id, std::chrono::milliseconds ttl = kTtl,
                LockMode mode = LockMode::kExclusive, bool detached = false) {
    return Done(RenewOf(key, id, ttl, mode, detached));
  }
  RenewOp RenewShare(const Key& key, const Uuid& id, std::chrono::milliseconds ttl = kTtl) {
    return Renew(key, id, ttl, LockMode::kShared);
  }
  WriteOp Write(const Key& key, WriteKind kind, const Uuid& id, const WriteArgs& args = {}) {
    return Done(WriteOf(key, kind, id, args));
  }
  WriteOp Leave(const Key& key, const Uuid& id) { return Write(key, WriteKind::kLeave, id); }
  WriteOp Release(const Key& key, const Uuid& id, const WriteArgs& args = {}) {
    return Write(key, WriteKind::kRelease, id, args);
  }
  /// Releases what was granted, by its version.
  WriteOp Release(const Key& key, const AcquireOp& grant, Body body = {}) {
    return Release(key, grant.request.grant.lock_id,
                   {.expected = grant.result.version, .body = std::move(body)});
  }
  WriteOp ReleaseShare(const Key& key, const Uuid& id) {
    return Release(key, id, {.mode = LockMode::kShared});
  }
  SaveOp Save(SaveKind kind, const Key& key, std::int64_t expected = kAnyVersion,
              const Uuid& born = {}, Body body = {}) {
    return Done(SaveOf(kind, key, expected, born, std::move(body)));
  }
  SaveOp Insert(const Key& key, Json tree) { return InsertBody(key, MakeBody(std::move(tree))); }
  SaveOp InsertBody(const Key& key, Body body) {
    return Save(SaveKind::kInsert, key, kAnyVersion, {}, std::move(body));
  }
  SaveOp Replace(const Key& key, std::int64_t version, const Uuid& born, Json tree) {
    return Save(SaveKind::kReplace, key, version, born, MakeBody(std::move(tree)));
  }
  SaveOp Erase(const Key& key, std::int64_t version = kAnyVersion, const Uuid& born = {}) {
    return Save(SaveKind::kErase, key, version, born);
  }
  ReadOp Read(const Key& key) { return Done(ReadOf(key)); }
  std::vector<QueryRow> Rows(const Filter& filter) {
    std::vector<QueryRow> rows;
    const auto keep = [&](QueryRow&& row) {
      rows.push_back(std::move(row));
      return true;
    };
    store_->Query(*collection_, filter, keep, budget_);
    return rows;
  }
  /// The keys a query shows, in its order.
  std::vector<Key> Query(const Filter& filter) {
    std::vector<Key> keys;
    for (QueryRow& row : Rows(filter)) keys.push_back(std::move(row.key));
    return keys;
  }
  struct Next {
    OpStatus status;
    Key key;
    Uuid id;
    AcquireOp op;
  };
  Next AcquireNext(const Filter& filter) {
    const Key unknown;
    Key key;
    AcquireOp op(*collection_, unknown);
    const Uuid id = op.request.grant.lock_id = FreshId();
    op.request.grant.ttl = kTtl;
    store_->AcquireNext(filter, op, key, budget_);
    const OpStatus status = op.status;
    if (status == OpStatus::kDone && op.key != &key) throw std::logic_error("no key was told");
    return {status, std::move(key), id, std::move(op)};
  }
  /// Several operations in one call. Throws if one has no outcome, or fails without a reason.
  void Execute(const std::vector<StoreOp*>& ops) { Execute(ops, budget_); }
  void Execute(const std::vector<StoreOp*>& ops, std::chrono::milliseconds budget) {
    store_->Execute(ops, budget);
    for (const StoreOp* op : ops) {
      const bool failed = op->status == OpStatus::kFailed || op->status == OpStatus::kInDoubt;
      if (op->status == OpStatus::kPending || (failed && !op->detail)) {
        throw std::logic_error("an operation was left: " + Why(*op));
      }
    }
  }
  void Execute(StoreOp& op) { Execute({&op}); }
  void Commit(CommitOp& commit) { store_->Commit(commit, budget_); }
  void EnsureIndex(const IndexSpec& index) { store_->EnsureIndex(*collection_, index); }
  void ReadTogether(const std::vector<StoreOp*>& reads) { store_->ReadTogether(reads, budget_); }
  /// All pages of them.
  std::vector<LockRow> Locks(const LockQuery& query = {}) {
    std::vector<LockRow> rows;
    std::string after;
    do {
      LockPage page = store_->ListLocks(*collection_, query, after, budget_);
      for (LockRow& row : page.rows) rows.push_back(std::move(row));
      after = page.next;
    } while (!after.empty());
    return rows;
  }
  void Expire(const Key& key) { testing::ExpireLock(*store_, collection_->name(), key); }
  void Break(const Key& key) { testing::BreakLock(*store_, collection_->name(), key); }
  void Steal(const Key& key) { testing::StealLock(*store_, collection_->name(), key); }
  std::int64_t Purge(std::int64_t limit = 1000) {
    return store_->Purge(*collection_, limit, budget_);
  }
  /// A client of another collection.
  [[nodiscard]] Client Open(const std::string& collection) const {
    return Client(store_, collection, budget_);
  }
  [[nodiscard]] Store& store() const { return *store_; }
  [[nodiscard]] Collection& collection() const { return *collection_; }
  [[nodiscard]] std::chrono::milliseconds budget() const { return budget_; }
  [[nodiscard]] StoreTraits traits() const { return store_->traits(); }

 private:
  template <class Op>
  Op Done(Op op) {
    Execute(op);
    return op;
  }

  std::shared_ptr<Store> store_;
  std::shared_ptr<Collection> collection_;
  std::chrono::milliseconds budget_;
};

}  // namespace doclock::conformance
