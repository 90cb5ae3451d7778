#include <algorithm>
#include <stdexcept>
#include <utility>

#include "doclock/store/record_store.h"
#include "locking/locking_store.h"
#include "records/record_collection.h"
#include "records/record_unit.h"
#include "records/unique_indexes.h"

namespace doclock {
namespace {

using records::RecordCollection;
using std::chrono::milliseconds;

/// The timeout of operations without a budget.
constexpr milliseconds kTimeout = std::chrono::seconds(10);

/// Records as a database of locks.
class RecordDatabase final : public locking::Database {
 public:
  explicit RecordDatabase(std::shared_ptr<RecordStore> records)
      : records_(std::move(records)), run_(records_->ClockRun()) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.shared = traits.others_may_wait = records_->IsShared();
    // Another process would learn of its turn only by polling, and keep all others waiting.
    traits.queues = !records_->IsShared();
    traits.clock_margin = records_->ClockMargin();
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
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    auto transaction =
        records_->Begin(reads ? RecordStore::Access::kRead : RecordStore::Access::kWrite,
                        std::max(left, milliseconds(0)));
    const bool all = access == locking::Access::kWriteAll;
    return std::make_unique<records::RecordUnit>(*records_, std::move(transaction), run_, all);
  }

  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    return static_cast<RecordCollection&>(collection).watchers().Add(std::move(listener));
  }

  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    if (index.held_locks) return;
    const auto transaction = records_->Begin(RecordStore::Access::kWrite, kTimeout);
    if (records::AddIndex(*transaction, collection.name(), index)) transaction->Commit();
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
