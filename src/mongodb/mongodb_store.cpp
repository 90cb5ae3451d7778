#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "doclock/mongodb_pool.h"
#include "doclock/mongodb_store.h"
#include "document/collection.h"
#include "locking/execute.h"
#include "locking/scans.h"
#include "mongodb/admin/admin.h"
#include "mongodb/admin/examine.h"
#include "mongodb/admin/open_check.h"
#include "mongodb/client/clock_watch.h"
#include "mongodb/client/stream.h"
#include "mongodb/commit.h"
#include "mongodb/mongodb_unit.h"
#include "mongodb/operations/execute.h"
#include "mongodb/query/query.h"
#include "platform/fork_generation.h"

namespace doclock {
namespace {

using locking::Deadline;
using std::chrono::milliseconds;

constexpr const char* kForkedText = "the store belongs to the parent process";

/// Measured on three members on one machine: with fewer lanes eight callers wait for each other's
/// batches; with more, the batches of a hundred callers get smaller. One more is for renewals.
constexpr int kLanes = 9;
constexpr std::size_t kMaxBatch = 32;

struct OpenCollection {
  std::shared_ptr<Collection> collection;
  std::shared_ptr<mongodb::Stream> stream;
};

/// What src/locking decides on this database: see locking::Database.
class MongodbDatabase final : public locking::Database {
 public:
  explicit MongodbDatabase(std::shared_ptr<mongodb::Server> server)
      : server_(std::move(server)), clocks_(std::make_unique<mongodb::ClockWatch>(server_)) {}
  ~MongodbDatabase() override {
    if (!IsForked()) return;
    // The connections and the threads belong to the parent.
    static_cast<void>(clocks_.release());
    new std::shared_ptr<mongodb::Server>(std::move(server_));
    new std::map<std::string, OpenCollection>(std::move(collections_));
  }

  [[nodiscard]] bool IsForked() const noexcept { return platform::ForkGeneration() != generation_; }
  void CheckProcess() const {
    if (IsForked()) throw LockException(Errc::kForked, std::string("doclock: ") + kForkedText);
  }
  [[nodiscard]] mongodb::Server& server() const noexcept { return *server_; }
  [[nodiscard]] const mongodb::ClockWatch& clocks() const noexcept { return *clocks_; }

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.lanes = kLanes;
    traits.max_batch = kMaxBatch;
    // Without change streams a granted waiter would learn of it by its next poll only.
    traits.queues = server_->is_replica_set();
    traits.clock_margin = clocks_->margin();
    return traits;
  }

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
  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const {
    const std::lock_guard guard(mutex_);
    const auto found = collections_.find(name);
    return found == collections_.end() ? nullptr : found->second.collection;
  }

  std::unique_ptr<locking::Unit> Begin(locking::Access, Deadline deadline) override {
    CheckProcess();
    return std::make_unique<mongodb::MongodbUnit>(*server_, deadline);
  }

  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    CheckProcess();
    if (!server_->is_replica_set()) return nullptr;  // no change streams
    return StreamOf(collection)->Add(std::move(listener));
  }
  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    CheckProcess();
    mongodb::EnsureIndex(*server_, collection, index);
  }
  [[nodiscard]] std::optional<std::vector<std::string>> ListCollections(
      Deadline deadline) override {
    CheckProcess();
    return mongodb::ListCollections(*server_, mongodb::Until(deadline));
  }

 private:
  std::shared_ptr<mongodb::Stream> StreamOf(const Collection& collection) {
    const std::lock_guard guard(mutex_);
    return collections_.at(collection.name()).stream;
  }

  const std::uint32_t generation_ = platform::ForkGeneration();
  std::shared_ptr<mongodb::Server> server_;
  std::unique_ptr<mongodb::ClockWatch> clocks_;
  mutable std::mutex mutex_;
  std::map<std::string, OpenCollection> collections_;
};

/// May it be decided here, by src/locking? The server decides the others, in fewer commands.
bool IsDecidedHere(const StoreOp& op) noexcept {
  return op.kind == OpKind::kWrite && static_cast<const WriteOp&>(op).write == WriteKind::kLeave;
}

/// The store on that database. The other files of this folder do its work.
class MongodbStore final : public Store {
 public:
  explicit MongodbStore(std::shared_ptr<mongodb::Server> server) : database_(std::move(server)) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits = database_.traits();
    traits.transactions = database_.server().is_replica_set();
    if (traits.transactions) traits.native = NativeHandle::kMongodb;
    return traits;
  }
  [[nodiscard]] std::chrono::nanoseconds clock_skew() const {
    return database_.clocks().skew().most;
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   milliseconds default_ttl) override {
    return database_.Open(name, fields, default_ttl);
  }
  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const override {
    return database_.Find(name);
  }

  void Execute(std::span<StoreOp* const> ops, milliseconds budget) override {
    if (database_.IsForked()) {
      for (StoreOp* op : ops) op->Fail(Errc::kForked, kForkedText);
      return;
    }
    if (std::none_of(ops.begin(), ops.end(),
                     [](const StoreOp* op) { return IsDecidedHere(*op); })) {
      return mongodb::Execute(database_.server(), database_.clocks(), ops, budget);
    }
    const Deadline deadline = In(budget);
    std::vector<StoreOp*> rest(ops.begin(), ops.end());
    const auto here = std::stable_partition(rest.begin(), rest.end(),
                                            [](const StoreOp* op) { return !IsDecidedHere(*op); });
    mongodb::Execute(database_.server(), database_.clocks(), {rest.begin(), here}, budget);
    // One by one: a unit of several could not tell which of them another client has raced.
    for (auto op = here; op != rest.end(); ++op) {
      locking::Execute(database_, {&*op, 1}, deadline);
    }
  }
  void Commit(CommitOp& commit, milliseconds budget) override {
    if (!traits().transactions) return Store::Commit(commit, budget);
    if (database_.IsForked()) {
      for (StoreOp* op : commit.ops) op->Fail(Errc::kForked, kForkedText);
      return;
    }
    mongodb::Commit(database_.server(), commit, In(budget));
  }
  void ReadTogether(std::span<StoreOp* const> reads, milliseconds budget) override {
    if (!database_.IsForked()) return mongodb::ReadTogether(database_.server(), reads, budget);
    for (StoreOp* const op : reads) op->Fail(Errc::kForked, kForkedText);
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key, milliseconds budget) override {
    if (database_.IsForked()) return op.Fail(Errc::kForked, kForkedText);
    if (mongodb::FailIfTooShort(op, database_.clocks())) return;
    mongodb::AcquireNext(database_.server(), filter, op, key, budget);
  }

  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink, milliseconds budget) override {
    locking::Query(database_, collection, filter, sink, In(budget));
  }
  std::int64_t Purge(Collection& collection, std::int64_t limit, milliseconds budget) override {
    return locking::Purge(database_, collection, limit, In(budget));
  }
  [[nodiscard]] LockPage ListLocks(Collection& collection, const LockQuery& query,
                                   const std::string& after, milliseconds budget) override {
    return locking::ListLocks(database_, collection, query, after, In(budget));
  }
  [[nodiscard]] std::vector<std::string> ListCollections(milliseconds budget) override {
    return *database_.ListCollections(In(budget));
  }
  [[nodiscard]] std::vector<Finding> Examine(Collection* collection, milliseconds budget) override {
    database_.CheckProcess();
    return mongodb::Examine(database_.server(), collection, database_.clocks().skew(), budget);
  }
  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    database_.EnsureIndex(collection, index);
  }
  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    return database_.Watch(collection, std::move(listener));
  }
  [[nodiscard]] bool OthersMayWait(Collection&) const noexcept override { return true; }

 private:
  static Deadline In(milliseconds budget) {
    constexpr milliseconds kLongest = std::chrono::hours(24);
    return std::chrono::steady_clock::now() + std::min(budget, kLongest);
  }

  MongodbDatabase database_;
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
