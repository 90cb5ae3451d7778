#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "doclock/store/record_store.h"
#include "document/json/row_filter.h"
#include "document/open_collections.h"
#include "document/watchers.h"
#include "records/step.h"
#include "records/unique_indexes.h"
#include "rules/fault.h"
#include "rules/looking.h"
#include "rules/queue.h"
#include "rules/tidying.h"

namespace doclock {
namespace {

using records::Step;
using records::Stored;
using std::chrono::milliseconds;
using Access = RecordStore::Access;
using Transaction = RecordStore::Transaction;

/// The timeout of operations without a budget.
constexpr milliseconds kTimeout = std::chrono::seconds(10);

class RecordCollection : public Collection {
 public:
  using Collection::Collection;
  [[nodiscard]] Watchers& watchers() noexcept { return *watchers_; }

 private:
  std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
};

/// The rest of a budget.
class Budget {
 public:
  explicit Budget(milliseconds budget) : end_(std::chrono::steady_clock::now() + budget) {}
  [[nodiscard]] milliseconds Left() const {
    const auto left = std::chrono::ceil<milliseconds>(end_ - std::chrono::steady_clock::now());
    return std::max(left, milliseconds(0));
  }

 private:
  std::chrono::steady_clock::time_point end_;
};

/// How many documents of a query one transaction finds; and one that searches for a free one.
constexpr std::size_t kRowsPerSearch = 100;
/// How many locks one transaction clears.
constexpr std::int64_t kPurgedAtOnce = 1000;

class StoreOfRecords final : public Store {
 public:
  explicit StoreOfRecords(std::shared_ptr<RecordStore> records)
      : records_(std::move(records)), run_(records_->ClockRun()) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.shared = records_->IsShared();
    // Another process would learn of its turn only by polling, and keep all others waiting.
    traits.queues = !records_->IsShared();
    traits.clock_margin = records_->ClockMargin();
    return traits;
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   milliseconds default_ttl) override {
    return collections_.Open(name, fields, default_ttl, [&](std::size_t) {
      auto collection = std::make_shared<RecordCollection>(name, fields, default_ttl);
      records_->Create(name);
      return collection;
    });
  }

  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const override {
    return collections_.Find(name);
  }

  void Execute(std::span<StoreOp* const> ops, milliseconds budget) override {
    const Budget time(budget);
    for (StoreOp* op : ops) {
      if (const char* const fault = FaultOf(*op)) {
        op->Fail(Errc::kRefused, fault);
        continue;
      }
      const Access access = op->kind == OpKind::kRead ? Access::kRead : Access::kWrite;
      Settle(*op, access, time, [&](Transaction&, Step& step) { step.Execute(*op); });
    }
  }

  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink, milliseconds budget) override {
    const Budget time(budget);
    const auto scan = [&](FirstRows& rows) {
      Transact(collection, Access::kRead, time.Left(), [&](Transaction& transaction, Step& step) {
        Scan(transaction, step, filter, rows);
      });
    };
    VisitInOrder(filter, kPageRows, scan, sink);
  }

  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key, milliseconds budget) override {
    if (const char* const fault = FaultOfNext(op.grant)) return op.Fail(Errc::kRefused, fault);
    Settle(op, Access::kWrite, Budget(budget), [&](Transaction& transaction, Step& step) {
      op.status = OpStatus::kMissing;
      if (filter.lock_state() == Filter::LockState::kLocked) return;
      const Filter free = Filter(filter).Free();
      const auto take = [&](QueryRow&& row) {
        std::optional<Stored> stored = step.Load(row.key);
        if (!stored || stored->malformed || !rules::MayTakeNext(stored->lock, step.now())) {
          return true;
        }
        key = row.key;
        op.key = &key;
        op.hash = key.Hash();
        step.Acquire(op, *stored);
        return false;
      };
      VisitInOrder(
          free, kRowsPerSearch, [&](FirstRows& rows) { Scan(transaction, step, filter, rows); },
          take);
    });
  }

  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    if (index.held_locks) return;
    const auto transaction = records_->Begin(collection.name(), Access::kWrite, kTimeout);
    records::AddIndex(*transaction, index);
    transaction->Commit();
  }

  std::int64_t Purge(Collection& collection, std::int64_t limit, milliseconds budget) override {
    std::int64_t purged = 0;
    Transact(collection, Access::kWrite, budget, [&](Transaction& transaction, Step& step) {
      std::vector<std::pair<Key, Stored>> over;
      transaction.Scan([&](const Key& key, Record&& record) {
        Stored stored = step.Read(std::move(record));
        if (!stored.malformed && rules::IsPurgeable(stored.lock, step.now())) {
          over.emplace_back(key, std::move(stored));
        }
        return static_cast<std::int64_t>(over.size()) < std::min(limit, kPurgedAtOnce);
      });
      for (auto& [key, stored] : over) step.Purge(key, stored);
      purged = static_cast<std::int64_t>(over.size());
    });
    return purged;
  }

  std::unique_ptr<Subscription> Watch(
      Collection& collection, std::function<void(std::optional<std::size_t>)> hint) override {
    return Ours(collection).watchers().Add(std::move(hint));
  }

  [[nodiscard]] bool OthersMayWait(Collection&) const noexcept override {
    return records_->IsShared();
  }

  [[nodiscard]] LockPage ListLocks(Collection& collection, const LockQuery& query,
                                   const std::string&, milliseconds budget) override {
    LockPage page;
    Transact(collection, Access::kRead, budget, [&](Transaction& transaction, Step& step) {
      transaction.Scan([&](const Key& key, Record&& record) {
        if (!query.key || *query.key == key) {
          AddRows(page.rows, key, step.Read(std::move(record)), query, step.now());
        }
        return true;
      });
    });
    return page;
  }

  void Intervene(Collection& collection, const Key& key, Intervention what) override {
    const bool freed =
        Transact(collection, Access::kWrite, kTimeout, [&](Transaction&, Step& step) {
          std::optional<Stored> stored = step.Load(key);
          if (!stored) ThrowNoDocument(collection, key);
          if (stored->malformed) {
            throw StoreException(Errc::kMalformed, "doclock: the lock of " +
                                                       DocumentName(collection, key) +
                                                       " is not what this library writes");
          }
          if (!step.Intervene(key, *stored, what)) ThrowNotLocked(collection, key);
        });
    if (freed) Ours(collection).watchers().Tell(key.Hash());
  }

 private:
  static RecordCollection& Ours(Collection& collection) noexcept {
    return static_cast<RecordCollection&>(collection);
  }

  /// Runs one transaction; true if it freed a lock.
  template <class F>
  bool Transact(Collection& collection, Access access, milliseconds budget, const F& what) {
    const auto transaction = records_->Begin(collection.name(), access, budget);
    Step step(*transaction, run_, records_->Now());
    what(*transaction, step);
    if (step.changed()) transaction->Commit();
    return step.freed();
  }

  /// The same for one operation, whose result reports errors.
  template <class F>
  void Settle(StoreOp& op, Access access, const Budget& time, const F& what) {
    try {
      if (Transact(*op.collection, access, time.Left(), what)) {
        Ours(*op.collection).watchers().Tell(op.hash);
      }
    } catch (const InDoubtException& error) {
      op.Doubt(error.what());
    } catch (const Error& error) {
      op.Fail(error.errc(), error.what());
    } catch (...) {
      op.status = OpStatus::kPending;  // what was decided may not be stored
      throw;
    }
  }

  static void AddRows(std::vector<LockRow>& rows, const Key& key, const Stored& stored,
                      const LockQuery& query, TimePoint now) {
    LockRow row;
    row.key = key;
    row.has_body = !TreeOf(stored.body).empty();
    row.malformed = row.live = stored.malformed;
    if (!stored.malformed) {
      rules::AddRows(rows, row, stored.lock, query, now);
    } else if (query.group.empty()) {
      rows.push_back(std::move(row));
    }
  }

  static void Scan(Transaction& transaction, Step& step, const Filter& filter, FirstRows& rows) {
    const auto show = [&](const Key& key, const Stored& stored) {
      // A malformed lock may be held; it is not free.
      const bool locked = stored.malformed || stored.lock.IsLive(step.now());
      rows.Show({key, stored.body, stored.lock.version, stored.lock.born, locked});
    };
    if (const auto key = EqualKey(filter)) {
      if (const auto stored = step.Load(*key)) show(*key, *stored);
      return;
    }
    transaction.Scan([&](const Key& key, Record&& record) {
      show(key, step.Read(std::move(record)));
      return true;
    });
  }

  const std::shared_ptr<RecordStore> records_;
  const std::string run_;
  OpenCollections<RecordCollection> collections_;
};

}  // namespace

std::shared_ptr<Store> StoreOver(std::shared_ptr<RecordStore> records) {
  if (!records) throw std::invalid_argument("doclock: StoreOver needs a RecordStore");
  return std::make_shared<StoreOfRecords>(std::move(records));
}

}  // namespace doclock
