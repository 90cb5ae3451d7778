#include "doclock/testing/faulty_store.h"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doclock/errors.h"

namespace doclock::testing {
namespace {

constexpr std::chrono::seconds kBudget{10};
constexpr std::chrono::seconds kStolenTtl{30};

/// The lock of one document.
class Lock {
 public:
  /// @throws NotFoundException
  Lock(Store& store, const std::string& name, const Key& key)
      : store_(store), collection_(store.Find(name)), key_(key) {
    if (!collection_) {
      throw NotFoundException("doclock: no repository of this process has opened the collection " +
                              name);
    }
  }

  /// The lock, or each of its shares; none if it is not locked.
  [[nodiscard]] std::vector<LockRow> Holders() const {
    LockQuery query;
    query.key = key_;
    query.unheld = true;
    std::vector<LockRow> rows;
    std::string after;
    do {
      LockPage page = store_.ListLocks(*collection_, query, after, kBudget);
      for (LockRow& row : page.rows) rows.push_back(std::move(row));
      after = std::move(page.next);
    } while (!after.empty());
    if (rows.empty()) ThrowNoDocument();
    if (rows.front().malformed)
      throw StoreException(Errc::kMalformed, "doclock: malformed: " + Name());
    std::erase_if(rows, [](const LockRow& row) { return row.lock_id.is_nil(); });
    return rows;
  }
  /// @throws LockException if there is none.
  [[nodiscard]] std::vector<LockRow> SomeHolders() const {
    std::vector<LockRow> rows = Holders();
    if (rows.empty()) throw LockException(Errc::kNotOwner, "doclock: not locked: " + Name());
    return rows;
  }

  void Expire(const LockRow& row) const {
    WriteOp op = WriteOf(row, WriteKind::kCheckpoint);
    op.request.expected = row.version;
    op.request.fence = row.fence.value_or(0);
    Run(op);
  }
  /// `next`: hands it over.
  void Release(const LockRow& row, const GrantRequest* next = nullptr) const {
    WriteOp op = WriteOf(row, WriteKind::kRelease);
    op.request.mode = row.mode;
    op.request.release_id = NewUuid();  // the holder does not take it for its own release
    op.request.next = next;
    Run(op);
  }
  void Take(const GrantRequest& grant) const {
    AcquireOp op(*collection_, key_);
    op.request.grant = grant;
    Run(op);
  }

 private:
  [[nodiscard]] std::string Name() const { return collection_->name() + "/" + key_.ToString(); }
  [[noreturn]] void ThrowNoDocument() const {
    throw NotFoundException("doclock: there is no document " + Name());
  }
  [[nodiscard]] WriteOp WriteOf(const LockRow& row, WriteKind kind) const {
    WriteOp op(*collection_, key_);
    op.request.write = kind;
    op.request.lock_id = row.lock_id;
    return op;
  }
  void Run(StoreOp& op) const {
    const std::array<StoreOp*, 1> batch{&op};
    store_.Execute(batch, kBudget);
    switch (op.status) {
      case OpStatus::kDone:
      case OpStatus::kLost:  // it ended meanwhile
        return;
      case OpStatus::kMissing:
        ThrowNoDocument();
      case OpStatus::kBusy:
        throw LockException(Errc::kBusy,
                            "doclock: " + Name() + " is closed, or others wait for it");
      case OpStatus::kInDoubt:
        throw InDoubtException("doclock: " + Name() + ": " + op.detail->message);
      default:
        throw StoreException(op.detail->code, "doclock: " + Name() + ": " + op.detail->message);
    }
  }

  Store& store_;
  std::shared_ptr<Collection> collection_;
  const Key& key_;
};

GrantRequest StrangersGrant() {
  GrantRequest grant;
  grant.lock_id = NewUuid();
  grant.ttl = kStolenTtl;
  grant.detached = true;
  LockHolder stranger;
  stranger.name = "stranger";
  grant.owner = std::make_shared<const LockHolder>(std::move(stranger));
  return grant;
}

}  // namespace

void ExpireLock(Store& store, const std::string& collection, const Key& key) {
  const Lock lock(store, collection, key);
  for (const LockRow& row : lock.SomeHolders()) {
    if (row.mode == LockMode::kShared) {
      lock.Release(row);
    } else if (row.live) {
      lock.Expire(row);
    }
  }
}

void BreakLock(Store& store, const std::string& collection, const Key& key) {
  const Lock lock(store, collection, key);
  for (const LockRow& row : lock.SomeHolders()) lock.Release(row);
}

void StealLock(Store& store, const std::string& collection, const Key& key) {
  const Lock lock(store, collection, key);
  const GrantRequest grant = StrangersGrant();
  const std::vector<LockRow> rows = lock.Holders();
  if (rows.size() == 1 && rows.front().mode == LockMode::kExclusive) {
    return lock.Release(rows.front(), &grant);
  }
  for (const LockRow& row : rows) lock.Release(row);
  lock.Take(grant);
}

}  // namespace doclock::testing
