#include "locking/locking_store.h"

#include <algorithm>
#include <utility>

#include "document/open_collections.h"
#include "locking/commit_all.h"
#include "locking/execute.h"
#include "locking/scans.h"

namespace doclock::locking {
namespace {

using std::chrono::milliseconds;

class LockingStore final : public Store {
 public:
  explicit LockingStore(std::unique_ptr<Database> database)
      : database_(std::move(database)), immediate_(database_->traits().immediate) {}

  [[nodiscard]] StoreTraits traits() const noexcept override { return database_->traits(); }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   milliseconds default_ttl) override {
    return collections_.Open(name, fields, default_ttl, [&](std::size_t) {
      return database_->Open(name, fields, default_ttl);
    });
  }
  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const override {
    return collections_.Find(name);
  }

  void Execute(std::span<StoreOp* const> ops, milliseconds budget) override {
    if (immediate_) return ExecuteImmediately(*database_, ops);
    locking::Execute(*database_, ops, In(budget));
  }
  void Commit(CommitOp& commit, milliseconds budget) override {
    locking::CommitAll(*database_, commit, In(budget));
  }
  void ReadTogether(std::span<StoreOp* const> reads, milliseconds budget) override {
    locking::ReadTogether(*database_, reads, In(budget));
  }
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink, milliseconds budget) override {
    locking::Query(*database_, collection, filter, sink, In(budget));
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key, milliseconds budget) override {
    locking::AcquireNext(*database_, filter, op, key, In(budget));
  }
  std::int64_t Purge(Collection& collection, std::int64_t limit, milliseconds budget) override {
    return locking::Purge(*database_, collection, limit, In(budget));
  }
  [[nodiscard]] LockPage ListLocks(Collection& collection, const LockQuery& query,
                                   const std::string& after, milliseconds budget) override {
    return locking::ListLocks(*database_, collection, query, after, In(budget));
  }
  [[nodiscard]] std::vector<std::string> ListCollections(milliseconds budget) override {
    auto names = database_->ListCollections(In(budget));
    return names ? *std::move(names) : Store::ListCollections(budget);
  }
  [[nodiscard]] std::vector<Finding> Examine(Collection* collection, milliseconds budget) override {
    return database_->Examine(collection, In(budget));
  }

  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    database_->EnsureIndex(collection, index);
  }
  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    return database_->Watch(collection, std::move(listener));
  }
  [[nodiscard]] bool OthersMayWait(Collection&) const noexcept override {
    return database_->traits().shared;
  }

 private:
  /// What never blocks has no use for a deadline, nor for the time that reading a clock takes.
  [[nodiscard]] Deadline In(milliseconds budget) const {
    if (immediate_) return Deadline::max();
    constexpr milliseconds kLongest = std::chrono::hours(24);
    return std::chrono::steady_clock::now() + std::min(budget, kLongest);
  }

  const std::unique_ptr<Database> database_;
  const bool immediate_;
  OpenCollections<Collection> collections_;
};

}  // namespace

std::shared_ptr<Store> StoreOn(std::unique_ptr<Database> database) {
  return std::make_shared<LockingStore>(std::move(database));
}

}  // namespace doclock::locking
