#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include "doclock/stores/mongodb.h"
#include "locking/locking_store.h"
#include "locking/program.h"
#include "mongodb/admin/admin.h"
#include "mongodb/client/clocks.h"
#include "mongodb/layouts/execute_theirs.h"
#include "mongodb/layouts/layout.h"
#include "mongodb/notifications/stream.h"
#include "mongodb/open_url.h"
#include "mongodb/query/query.h"
#include "mongodb/unit/execute.h"
#include "mongodb/unit/mongodb_unit.h"

namespace doclock {
namespace {

using locking::Deadline;
using std::chrono::milliseconds;

/// Measured on three members on one machine: with fewer lanes eight callers wait for each other's
/// batches; with more, the batches of a hundred callers get smaller. One more is for renewals.
constexpr int kLanes = 9;
constexpr std::size_t kMaxBatch = 32;

/// What src/locking decides on this database: see locking::Database.
class MongodbDatabase final : public locking::Database {
 public:
  /// @param creates see LockingStore
  MongodbDatabase(std::shared_ptr<mongodb::Server> server, mongodb::Layouts layouts, bool creates)
      : Database(locking::InChild::kRefused),
        layouts_(std::move(layouts)),
        creates_(creates),
        server_(std::move(server)),
        clocks_(std::make_unique<mongodb::ClockWatch>(server_)) {}
  ~MongodbDatabase() override {
    if (!IsForked()) return;
    // The connections and the threads belong to the parent.
    static_cast<void>(clocks_.release());
    new std::shared_ptr<mongodb::Server>(std::move(server_));
    new Streams(std::move(streams_));
  }

  [[nodiscard]] mongodb::Server& server() const noexcept { return *server_; }
  [[nodiscard]] const mongodb::ClockWatch& clocks() const noexcept { return *clocks_; }

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.lanes = kLanes;
    traits.max_batch = kMaxBatch;
    traits.clock_margin = clocks_->margin();
    if (!server_->is_replica_set()) return traits;
    // Without change streams a granted waiter would learn of it by its next poll only.
    traits.queues = traits.transactions = true;
    traits.native = NativeHandle::kMongodb;
    return traits;
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    if (const auto theirs = layouts_.find(name); theirs != layouts_.end()) {
      if (fields != LockFieldNames{}) {
        throw std::invalid_argument("doclock: lock_fields are for collections without a layout");
      }
      return mongodb::OpenTheirs(*server_, name, default_ttl, theirs->second, creates_);
    }
    auto collection = std::make_shared<Collection>(name, fields, default_ttl);
    mongodb::CheckCollection(*server_, *collection);
    auto stream = std::make_shared<mongodb::Stream>(server_, *collection);
    const std::lock_guard guard(mutex_);
    streams_.emplace(name, std::move(stream));
    return collection;
  }

  std::unique_ptr<locking::Unit> Begin(locking::Access, Deadline deadline) override {
    return std::make_unique<mongodb::MongodbUnit>(*server_, deadline);
  }

  [[nodiscard]] bool CanRun(rules::Plain kind) const noexcept override {
    return kind != rules::Plain::kNone;
  }
  void RunPlain(std::span<const rules::PlainOp> ops, bool alone, Deadline deadline) override {
    mongodb::RunPlain(*server_, *clocks_, ops, alone, mongodb::Until(deadline));
  }

  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    // Waiters at locks of another library poll, as its own do: a process that learnt of a release
    // at once would leave them nothing.
    if (mongodb::LayoutOf(collection) != nullptr) return nullptr;
    if (!server_->is_replica_set()) return nullptr;  // no change streams
    return StreamOf(collection)->Add(std::move(listener));
  }
  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    mongodb::EnsureIndex(*server_, collection, index);
  }
  [[nodiscard]] std::optional<std::vector<std::string>> ListCollections(
      Deadline deadline) override {
    return mongodb::ListCollections(*server_, mongodb::Until(deadline));
  }
  [[nodiscard]] std::vector<Finding> Examine(Collection* collection, Deadline deadline) override {
    return mongodb::Examine(*server_, collection, clocks_->skew(), mongodb::Until(deadline));
  }

 private:
  using Streams = std::map<std::string, std::shared_ptr<mongodb::Stream>>;

  std::shared_ptr<mongodb::Stream> StreamOf(const Collection& collection) {
    const std::lock_guard guard(mutex_);
    return streams_.at(collection.name());
  }

  const mongodb::Layouts layouts_;
  const bool creates_;
  std::shared_ptr<mongodb::Server> server_;
  std::unique_ptr<mongodb::ClockWatch> clocks_;
  std::mutex mutex_;
  Streams streams_;
};

/// The store on that database: what the server decides in fewer commands than src/locking would.
class MongodbStore final : public locking::LockingStore {
 public:
  /// @param same that database
  MongodbStore(std::unique_ptr<MongodbDatabase> database, MongodbDatabase& same, bool creates)
      : LockingStore(std::move(database), creates), database_(same) {}

  [[nodiscard]] std::chrono::nanoseconds clock_skew() const {
    return database_.clocks().skew().most;
  }

  void Execute(std::span<StoreOp* const> ops, milliseconds budget) override {
    if (std::ranges::none_of(ops, &IsTheirs)) return LockingStore::Execute(ops, budget);
    if (Refuses(ops)) return;
    std::vector<StoreOp*> ours, theirs;
    for (StoreOp* const op : ops) (IsTheirs(op) ? theirs : ours).push_back(op);
    const Deadline deadline = In(budget);
    if (!ours.empty()) locking::Execute(database_, ours, deadline);
    mongodb::ExecuteTheirs(database_, theirs, std::max(deadline, In(budget / 4)));
  }
  void Commit(CommitOp& commit, milliseconds budget) override {
    if (!traits().transactions) return LockingStore::Commit(commit, budget);
    if (Refuses(commit.ops)) return;
    if (const auto op = std::ranges::find_if(commit.ops, &IsTheirs); op != commit.ops.end()) {
      locking::Reopen(commit);
      return RefuseTheirs(**op, "transactions");
    }
    const Deadline deadline = In(budget);
    locking::RunGuarded(commit, [&] { mongodb::Commit(database_.server(), commit, deadline); });
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key, milliseconds budget) override {
    StoreOp* const one[] = {&op};
    if (Refuses(one)) return;
    if (IsTheirs(&op)) return RefuseTheirs(op, "searches");
    if (mongodb::FailIfTooShort(op, database_.clocks())) return;
    op.MakePending();
    const Deadline deadline = In(budget);
    mongodb::AcquireNext(database_.server(), filter, op, key, budget);
    if (op.status != OpStatus::kMissing || !op.request.asks_free_in) return;
    try {
      mongodb::MongodbUnit unit(database_.server(), deadline);
      using Moment = std::optional<std::chrono::system_clock::time_point>;
      locking::TellFreeIn(unit, filter,
                          filter.has_due() ? Moment(WallTime(mongodb::Until(deadline))) : Moment(),
                          op);
    } catch (const Error&) {  // the search itself found nothing
      op.result.free_in.reset();
    }
  }
  std::chrono::system_clock::time_point WallTime(milliseconds budget) override {
    if (database_.IsForked()) return LockingStore::WallTime(budget);  // it refuses
    return mongodb::WallTime(database_.server(), budget);
  }

 private:
  static bool IsTheirs(const StoreOp* op) noexcept {
    return mongodb::LayoutOf(*op->collection) != nullptr;
  }
  static void RefuseTheirs(StoreOp& op, const char* feature) {
    op.Fail(Errc::kRefused, mongodb::RefusalText(*op.collection, feature));
  }

  MongodbDatabase& database_;
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

std::shared_ptr<Store> StoreOn(std::shared_ptr<mongodb::Server> server, mongodb::Layouts layouts,
                               bool creates = true) {
  auto database = std::make_unique<MongodbDatabase>(std::move(server), std::move(layouts), creates);
  MongodbDatabase& same = *database;
  return std::make_shared<MongodbStore>(std::move(database), same, creates);
}

std::shared_ptr<Store> OpenUri(const std::string& uri, MongodbStoreOptions options, bool creates) {
  Check(options);
  const std::string plain = mongodb::WithoutLayouts(uri, options.layouts);
  mongodb::Layouts layouts = mongodb::LayoutsOf(options.layouts);
  return StoreOn(std::make_shared<mongodb::Server>(plain, options), std::move(layouts), creates);
}

}  // namespace

std::shared_ptr<Store> OpenMongodbStore(const std::string& uri, MongodbStoreOptions options) {
  return OpenUri(uri, std::move(options), true);
}

std::shared_ptr<Store> OpenMongodbUrl(std::string_view url, OpenMode mode) {
  return OpenMongodbUrl(url, mode, std::nullopt);
}

std::shared_ptr<Store> OpenMongodbUrl(std::string_view url, OpenMode mode,
                                      std::optional<Duration> patience) {
  MongodbStoreOptions options;
  if (patience) {
    options.server_selection_timeout = std::min(options.server_selection_timeout, *patience);
  }
  return OpenUri(std::string(url), std::move(options), mode == OpenMode::kAsTheUrlSays);
}

std::shared_ptr<Store> OpenMongodbStore(_mongoc_client_pool_t* pool, const std::string& database,
                                        MongodbStoreOptions options) {
  Check(options);
  mongodb::Layouts layouts = mongodb::LayoutsOf(options.layouts);
  return StoreOn(std::make_shared<mongodb::Server>(pool, database, options), std::move(layouts));
}

std::chrono::nanoseconds MongodbClockSkew(const Store& store) {
  const auto* const mongodb = dynamic_cast<const MongodbStore*>(&store);
  if (mongodb == nullptr) throw std::invalid_argument("doclock: the store is none on MongoDB");
  return mongodb->clock_skew();
}

}  // namespace doclock
