#include <map>
#include <mutex>
#include <stdexcept>

#include "doclock/mongodb_pool.h"
#include "doclock/mongodb_store.h"
#include "document/collection.h"
#include "mongodb/admin/admin.h"
#include "mongodb/admin/examine.h"
#include "mongodb/admin/list_locks.h"
#include "mongodb/admin/open_check.h"
#include "mongodb/client/clock_watch.h"
#include "mongodb/client/stream.h"
#include "mongodb/operations/execute.h"
#include "mongodb/query/query.h"
#include "platform/fork_generation.h"

namespace doclock {
namespace {

constexpr const char* kForkedText = "the store belongs to the parent process";

/// Measured on three members on one machine: with fewer lanes eight callers wait for each other's
/// batches; with more, the batches of a hundred callers get smaller. One more is for renewals.
constexpr int kLanes = 9;
constexpr std::size_t kMaxBatch = 32;

struct OpenCollection {
  std::shared_ptr<Collection> collection;
  std::shared_ptr<mongodb::Stream> stream;
};

/// The store. The other files of this folder do its work.
class MongodbStore final : public Store {
 public:
  explicit MongodbStore(std::shared_ptr<mongodb::Server> server)
      : server_(std::move(server)), clocks_(std::make_unique<mongodb::ClockWatch>(server_)) {}
  ~MongodbStore() override {
    if (!IsForked()) return;
    // The connections and the threads belong to the parent.
    static_cast<void>(clocks_.release());
    new std::shared_ptr<mongodb::Server>(std::move(server_));
    new std::map<std::string, OpenCollection>(std::move(collections_));
  }

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.lanes = kLanes;
    traits.max_batch = kMaxBatch;
    // Without change streams a granted waiter would learn of it by its next poll only.
    traits.queues = server_->is_replica_set();
    traits.clock_margin = clocks_->margin();
    return traits;
  }

  [[nodiscard]] std::chrono::nanoseconds clock_skew() const { return clocks_->skew().most; }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    CheckProcess();
    auto collection = std::make_shared<Collection>(name, fields, default_ttl);
    if (const std::shared_ptr<Collection> open = Find(name)) {
      CheckSameCollection(*open, fields, default_ttl);
      return open;
    }
    mongodb::CheckCollection(*server_, *collection);
    const std::lock_guard guard(mutex_);
    if (const auto open = collections_.find(name); open != collections_.end()) {
      // Opened by another thread meanwhile.
      CheckSameCollection(*open->second.collection, fields, default_ttl);
      return open->second.collection;
    }
    auto stream = std::make_shared<mongodb::Stream>(server_, *collection);
    return collections_.emplace(name, OpenCollection{collection, stream}).first->second.collection;
  }

  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const override {
    const std::lock_guard guard(mutex_);
    const auto found = collections_.find(name);
    return found == collections_.end() ? nullptr : found->second.collection;
  }

  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    if (IsForked()) {
      for (StoreOp* op : ops) op->Fail(Errc::kForked, kForkedText);
      return;
    }
    mongodb::Execute(*server_, *clocks_, ops, budget);
  }

  void ReadTogether(std::span<StoreOp* const> reads, std::chrono::milliseconds budget) override {
    if (!IsForked()) return mongodb::ReadTogether(*server_, reads, budget);
    for (StoreOp* const op : reads) op->Fail(Errc::kForked, kForkedText);
  }

  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override {
    CheckProcess();
    mongodb::Query(*server_, collection, filter, sink, budget);
  }

  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override {
    if (IsForked()) return op.Fail(Errc::kForked, kForkedText);
    if (mongodb::FailIfTooShort(op, *clocks_)) return;
    mongodb::AcquireNext(*server_, filter, op, key, budget);
  }

  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    CheckProcess();
    mongodb::EnsureIndex(*server_, collection, index);
  }

  std::int64_t Purge(Collection& collection, std::int64_t limit,
                     std::chrono::milliseconds budget) override {
    CheckProcess();
    return mongodb::Purge(*server_, collection, limit, budget);
  }

  LockPage ListLocks(Collection& collection, const LockQuery& query, const std::string& after,
                     std::chrono::milliseconds budget) override {
    CheckProcess();
    return mongodb::ListLocks(*server_, collection, query, after, budget);
  }

  [[nodiscard]] std::vector<std::string> ListCollections(
      std::chrono::milliseconds budget) override {
    CheckProcess();
    return mongodb::ListCollections(*server_, budget);
  }

  [[nodiscard]] std::vector<Finding> Examine(Collection* collection,
                                             std::chrono::milliseconds budget) override {
    CheckProcess();
    return mongodb::Examine(*server_, collection, clocks_->skew(), budget);
  }

  std::unique_ptr<Subscription> Watch(
      Collection& collection, std::function<void(std::optional<std::size_t>)> hint) override {
    CheckProcess();
    if (!server_->is_replica_set()) return nullptr;  // no change streams
    return StreamOf(collection)->Add(std::move(hint));
  }

  [[nodiscard]] bool OthersMayWait(Collection&) const noexcept override { return true; }

 private:
  [[nodiscard]] bool IsForked() const noexcept { return platform::ForkGeneration() != generation_; }
  std::shared_ptr<mongodb::Stream> StreamOf(const Collection& collection) {
    const std::lock_guard guard(mutex_);
    return collections_.at(collection.name()).stream;
  }
  void CheckProcess() const {
    if (IsForked()) throw LockException(Errc::kForked, std::string("doclock: ") + kForkedText);
  }

  const std::uint32_t generation_ = platform::ForkGeneration();
  std::shared_ptr<mongodb::Server> server_;
  std::unique_ptr<mongodb::ClockWatch> clocks_;
  mutable std::mutex mutex_;
  std::map<std::string, OpenCollection> collections_;
};

void CheckBound(Duration value, const char* field) {
  if (value < std::chrono::milliseconds(10) || value > std::chrono::minutes(1)) {
    throw std::invalid_argument(std::string("doclock: MongodbStoreOptions::") + field +
                                " must be 10 ms to one minute");
  }
}

void Check(const MongodbStoreOptions& options) {
  CheckBound(options.socket_timeout, "socket_timeout");
  CheckBound(options.server_selection_timeout, "server_selection_timeout");
}

}  // namespace

std::shared_ptr<Store> OpenMongodbStore(const std::string& uri, MongodbStoreOptions options) {
  Check(options);
  return std::make_shared<MongodbStore>(std::make_shared<mongodb::Server>(uri, options));
}

std::shared_ptr<Store> OpenMongodbStore(_mongoc_client_pool_t* pool, const std::string& database,
                                        MongodbStoreOptions options) {
  Check(options);
  return std::make_shared<MongodbStore>(std::make_shared<mongodb::Server>(pool, database, options));
}

std::chrono::nanoseconds MongodbClockSkew(const Store& store) {
  const auto* const mongodb = dynamic_cast<const MongodbStore*>(&store);
  if (mongodb == nullptr) throw std::invalid_argument("doclock: the store is none on MongoDB");
  return mongodb->clock_skew();
}

}  // namespace doclock
