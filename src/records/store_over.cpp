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

/// The parts of a document that a filter checks.
struct Found {
  QueryRow row;
  Stored stored;
};

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
    std::vector<Found> rows;
    Transact(collection, Access::kRead, budget,
             [&](Transaction& transaction, Step& step) { rows = Scan(transaction, step, filter); });
    std::int64_t shown = 0;
    for (Found& found : rows) {
      if (!sink(std::move(found.row)) || ++shown == filter.limit()) return;
    }
  }

  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key, milliseconds budget) override {
    if (const char* const fault = FaultOfNext(op.grant)) return op.Fail(Errc::kRefused, fault);
    Settle(op, Access::kWrite, Budget(budget), [&](Transaction& transaction, Step& step) {
      op.status = OpStatus::kMissing;
      if (filter.lock_state() == Filter::LockState::kLocked) return;
      for (Found& found : Scan(transaction, step, Filter(filter).Free())) {
        const Stored& stored = found.stored;
        if (stored.malformed || !rules::MayTakeNext(stored.lock, step.now())) continue;
        key = found.row.key;
        op.key = &key;
        op.hash = key.Hash();
        return step.Acquire(op, found.stored);
      }
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
      for (Found& found : Scan(transaction, step, Filter())) {
        const bool over =
            !found.stored.malformed && rules::IsPurgeable(found.stored.lock, step.now());
        if (purged == limit || !over) continue;
        step.Purge(found.row.key, found.stored);
        ++purged;
      }
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

  /// The records that meet the filter, in its order.
  static std::vector<Found> Scan(Transaction& transaction, const Step& step, const Filter& filter) {
    std::vector<Found> all;
    transaction.Scan([&](const Key& key, Record&& record) {
      Stored stored = step.Read(std::move(record));
      // A malformed lock may be held; it is not free.
      const bool locked = stored.malformed || stored.lock.IsLive(step.now());
      if (StateMatches(filter, locked) && Matches(filter, stored.body)) {
        QueryRow row{key, stored.body, stored.lock.version, stored.lock.born, locked};
        all.push_back({std::move(row), std::move(stored)});
      }
      return true;
    });
    std::sort(all.begin(), all.end(),
              [&](const Found& a, const Found& b) { return StandsBefore(filter, a.row, b.row); });
    return all;
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
