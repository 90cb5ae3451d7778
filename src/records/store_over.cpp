#include <algorithm>
#include <stdexcept>
#include <utility>

#include "doclock/store/record_store.h"
#include "locking/locking_store.h"
#include "locking/program.h"
#include "records/hint_text.h"
#include "records/record_collection.h"
#include "records/record_unit.h"
#include "records/unique_indexes.h"

namespace doclock {
namespace {

using records::RecordCollection;
using std::chrono::milliseconds;

/// The timeout of operations without a budget.
constexpr milliseconds kTimeout = std::chrono::seconds(10);

milliseconds LeftUntil(locking::Deadline deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(0));
}

/// Listeners of this process, and of others. It may outlive the store.
class BothSubscriptions final : public Subscription {
 public:
  BothSubscriptions(std::shared_ptr<RecordStore> records, std::unique_ptr<Subscription> here,
                    std::unique_ptr<Subscription> elsewhere)
      : records_(std::move(records)), here_(std::move(here)), elsewhere_(std::move(elsewhere)) {}

 private:
  const std::shared_ptr<RecordStore> records_;
  const std::unique_ptr<Subscription> here_;
  const std::unique_ptr<Subscription> elsewhere_;
};

/// Records as a database of locks.
class RecordDatabase final : public locking::Database {
 public:
  explicit RecordDatabase(std::shared_ptr<RecordStore> records)
      : records_(std::move(records)), run_(records_->ClockRun()) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    const RecordTraits records = records_->traits();
    StoreTraits traits;
    traits.lanes = records.lanes;
    traits.shared = traits.others_may_wait = records.shared;
    // Without hints another process would learn of its turn only by polling, and keep all others
    // waiting.
    traits.queues = records.tells || !records.shared;
    traits.clock_margin = records.clock_margin;
    traits.transactions = true;
    return traits;
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   milliseconds default_ttl) override {
    auto collection = std::make_shared<RecordCollection>(name, fields, default_ttl);
    records_->Create(name);
    return collection;
  }

  std::unique_ptr<locking::Unit> Begin(locking::Access access,
                                       locking::Deadline deadline) override {
    const bool reads = access == locking::Access::kRead;
    auto transaction = records_->Begin(
        reads ? RecordStore::Access::kRead : RecordStore::Access::kWrite, LeftUntil(deadline));
    return std::make_unique<records::RecordUnit>(*records_, std::move(transaction), run_, access);
  }

  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    auto here = static_cast<RecordCollection&>(collection).watchers().Add(listener);
    auto elsewhere = records_->Watch(collection.name(),
                                     [listener = std::move(listener)](const std::string& hint) {
                                       listener(records::HintFromText(hint));
                                     });
    return std::make_unique<BothSubscriptions>(records_, std::move(here), std::move(elsewhere));
  }

  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    if (index.held_locks) return;
    const locking::Deadline deadline = locking::Deadline::clock::now() + kTimeout;
    locking::RunUntilUnraced(deadline, [&](bool) {
      const auto transaction = records_->Begin(RecordStore::Access::kWrite, LeftUntil(deadline));
      if (records::AddIndex(*transaction, collection.name(), index)) transaction->Commit();
    });
    if (index.unique) static_cast<RecordCollection&>(collection).SetUnique();
  }

 private:
  const std::shared_ptr<RecordStore> records_;
  const std::string run_;
};

}  // namespace

std::shared_ptr<Store> StoreOver(std::shared_ptr<RecordStore> records) {
  if (!records) throw std::invalid_argument("doclock: StoreOver needs a RecordStore");
  return locking::StoreOn(std::make_unique<RecordDatabase>(std::move(records)));
}

}  // namespace doclock
