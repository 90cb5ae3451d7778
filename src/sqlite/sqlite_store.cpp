#include "doclock/sqlite_store.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "document/open_collections.h"
#include "locking/commit_all.h"
#include "locking/execute.h"
#include "locking/scans.h"
#include "platform/fork_generation.h"
#include "rules/acquire.h"
#include "rules/fault.h"
#include "sqlite/db/open_file.h"
#include "sqlite/db/reader_pool.h"
#include "sqlite/db/writer.h"
#include "sqlite/operations/examine.h"
#include "sqlite/operations/unit.h"
#include "sqlite/processes/notification_listener.h"
#include "sqlite/schema/index_names.h"
#include "sqlite/schema/indexes.h"
#include "sqlite/schema/schema.h"

namespace doclock {
namespace {

using sqlite::Connection;
using sqlite::DatabaseError;
using sqlite::Deadline;
using sqlite::DeadlineIn;
using sqlite::SqliteCollection;

constexpr const char* kForkedText = "the store belongs to the parent process";

/// Runs when the connections of a store are closed. SQLite deletes the log only if no connection of
/// any process was left; then no store has the former files open.
class AfterClosing {
 public:
  AfterClosing(sqlite::ProcessCoordinator& coordinator, const sqlite::FileSet& files) noexcept
      : coordinator_(coordinator), files_(files) {}
  AfterClosing(const AfterClosing&) = delete;
  AfterClosing& operator=(const AfterClosing&) = delete;
  ~AfterClosing() {
    if (was_whole && files_.LogIsMissing()) coordinator_.ForgetFiles(files_.tag());
  }

  bool was_whole = false;  ///< Each file was in its place when the store began to close.

 private:
  sqlite::ProcessCoordinator& coordinator_;
  const sqlite::FileSet& files_;
};

/// The parts of a store. A forked child does not touch them, not even to destroy them: SQLite's
/// locks and the thread are its parent's.
struct Parts {
  Parts(sqlite::OpenFile open, const SqliteStoreOptions& options)
      : in_use(std::move(open.in_use)),
        path(open.path),
        coordinator(std::move(open.coordinator)),
        files(std::move(open.files)),
        open_lock(std::move(open.open_lock)),
        after_closing(*coordinator, *files),
        clock(options.clock ? options.clock : SystemClock()),
        evaluator(*coordinator, sqlite::BootNumber()),
        around{*clock, *coordinator, evaluator, owners},
        readers(path, options, *files),
        writer(std::move(open.connection), *coordinator, owners, options.busy_timeout.ms(), *files),
        listener(std::make_shared<sqlite::NotificationListener>(coordinator)) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  /// The last connection to close deletes the log; the next store has another one.
  ~Parts() {
    static_cast<void>(coordinator->RegisterFiles(0));
    open_lock->Release();
    try {
      files->Check();  // SQLite reads the index once more when it closes
      after_closing.was_whole = true;
    } catch (...) {
      // It does not prevent closing.
    }
  }

  std::unique_ptr<sqlite::SqliteInUse> in_use;
  std::filesystem::path path;
  std::shared_ptr<sqlite::ProcessCoordinator> coordinator;
  std::unique_ptr<const sqlite::FileSet> files;
  std::unique_ptr<sqlite::OpenLock> open_lock;  // outlives the connections
  AfterClosing after_closing;                   // outlives the connections
  std::shared_ptr<const Clock> clock;
  sqlite::LeaseEvaluator evaluator;
  sqlite::Owners owners;
  sqlite::Surroundings around;
  sqlite::ReaderPool readers;
  sqlite::Writer writer;
  std::shared_ptr<sqlite::NotificationListener> listener;

  OpenCollections<SqliteCollection> collections;
};

/// A file as a database of locks. Its functions throw DatabaseError.
class SqliteDatabase final : public locking::Database {
 public:
  SqliteDatabase(Parts& parts, const SqliteStoreOptions& options)
      : parts_(parts), busy_timeout_(options.busy_timeout.ms()), create_(options.create) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.reads_apart = true;
    // Processes that learn of their turn by polling would make all others wait for their polls.
    traits.queues = parts_.coordinator->has_notifications();
    traits.transactions = true;
    traits.native = NativeHandle::kSqlite;
    return traits;
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    return parts_.collections.Open(name, fields, default_ttl, [&](std::size_t number) {
      auto collection = std::make_shared<SqliteCollection>(name, fields, default_ttl, number);
      CreateTables(*collection);
      return collection;
    });
  }

  std::unique_ptr<locking::Unit> Begin(locking::Access access, Deadline deadline) override {
    if (access == locking::Access::kRead) {
      return std::make_unique<sqlite::ReadUnit>(parts_.readers, parts_.around, deadline);
    }
    const bool all = access == locking::Access::kWriteAll;
    return std::make_unique<sqlite::WriteUnit>(parts_.writer, parts_.around, deadline, all);
  }

  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    if (!parts_.coordinator->has_notifications()) return nullptr;
    return parts_.listener->Add(static_cast<SqliteCollection&>(collection), std::move(listener));
  }

  void EnsureIndex(Collection& collection, const IndexSpec& index) override;

 private:
  void CreateTables(const SqliteCollection& collection);

  Parts& parts_;
  const std::chrono::milliseconds busy_timeout_;
  const bool create_;
};

void SqliteDatabase::CreateTables(const SqliteCollection& collection) {
  const Deadline deadline = DeadlineIn(busy_timeout_);
  {
    const auto reader = parts_.readers.Take(deadline);
    if (HasCollection(*reader, collection.tables())) return;
  }
  if (!create_) {
    throw NotFoundException("doclock: " + parts_.path.string() + " has no collection " +
                            collection.name());
  }
  parts_.writer.Transact(
      deadline, [&](Connection& connection) { CreateCollection(connection, collection.tables()); });
}

void SqliteDatabase::EnsureIndex(Collection& collection, const IndexSpec& spec) {
  if (spec.held_locks) return;
  const auto& ours = static_cast<SqliteCollection&>(collection);
  const IndexSpec index = WithoutKey(spec);
  const Deadline deadline = DeadlineIn(busy_timeout_);
  const std::string sql = sqlite::IndexSql(ours, index);
  if (sql.empty()) return;
  {
    const auto reader = parts_.readers.Take(deadline);
    if (sqlite::HasIndex(*reader, sql)) return;
  }
  try {
    parts_.writer.Transact(deadline,
                           [&](Connection& connection) { sqlite::CreateIndex(connection, sql); });
  } catch (const DatabaseError& error) {
    if (!error.is_about_values()) throw;
    const std::string fields = sqlite::FieldList(index);
    throw ConflictException("doclock: documents already repeat values of the index " + fields,
                            std::nullopt, std::nullopt, fields);
  }
}

/// The store on that database. It says of SQLite's errors which file they are about.
class SqliteStore final : public Store {
  [[nodiscard]] bool IsForked() const noexcept { return platform::ForkGeneration() != generation_; }
  void CheckProcess() const {
    if (IsForked()) throw LockException(Errc::kForked, std::string("doclock: ") + kForkedText);
  }

  /// Runs something, and says of SQLite's errors which file they are about.
  template <class F>
  auto Naming(const F& what) const {
    CheckProcess();
    try {
      return what();
    } catch (const DatabaseError& error) {
      throw sqlite::AsStoreException(error, parts_->path);
    } catch (const InDoubtException& error) {
      throw InDoubtException("doclock: " + parts_->path.string() + ": " + error.what());
    }
  }

 public:
  SqliteStore(sqlite::OpenFile open, const SqliteStoreOptions& options)
      : busy_timeout_(options.busy_timeout.ms()),
        parts_(std::make_unique<Parts>(std::move(open), options)),
        database_(*parts_, options) {}
  ~SqliteStore() override {
    if (IsForked()) static_cast<void>(parts_.release());
  }

  [[nodiscard]] StoreTraits traits() const noexcept override { return database_.traits(); }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    return Naming([&] { return database_.Open(name, fields, default_ttl); });
  }
  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const override {
    if (IsForked()) return nullptr;
    return parts_->collections.Find(name);
  }

  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override;
  void Commit(CommitOp& commit, std::chrono::milliseconds budget) override {
    if (!IsForked()) return locking::CommitAll(database_, commit, DeadlineIn(budget));
    for (StoreOp* const op : commit.ops) op->Fail(Errc::kForked, kForkedText);
  }

  void ReadTogether(std::span<StoreOp* const> reads, std::chrono::milliseconds budget) override {
    if (!IsForked()) return locking::ReadTogether(database_, reads, DeadlineIn(budget));
    for (StoreOp* const op : reads) op->Fail(Errc::kForked, kForkedText);
  }
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override {
    Naming([&] { locking::Query(database_, collection, filter, sink, DeadlineIn(budget)); });
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override {
    // As of any operation: what throws is taken for one that may have happened.
    if (IsForked()) return op.Fail(Errc::kForked, kForkedText);
    locking::AcquireNext(database_, filter, op, key, DeadlineIn(budget));
  }
  std::chrono::system_clock::time_point WallTime(std::chrono::milliseconds) override {
    return parts_->clock->WallTime();
  }
  std::int64_t Purge(Collection& collection, std::int64_t limit,
                     std::chrono::milliseconds budget) override {
    return Naming([&] { return locking::Purge(database_, collection, limit, DeadlineIn(budget)); });
  }
  [[nodiscard]] LockPage ListLocks(Collection& collection, const LockQuery& query,
                                   const std::string& after,
                                   std::chrono::milliseconds budget) override {
    return Naming([&] {
      return locking::ListLocks(database_, collection, query, after, DeadlineIn(budget));
    });
  }
  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    Naming([&] { database_.EnsureIndex(collection, index); });
  }
  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    CheckProcess();
    return database_.Watch(collection, std::move(listener));
  }
  [[nodiscard]] bool OthersMayWait(Collection&) const noexcept override {
    return !IsForked() && parts_->coordinator->OthersWatch();
  }
  [[nodiscard]] std::vector<std::string> ListCollections(
      std::chrono::milliseconds budget) override {
    return Naming([&] {
      const auto connection = parts_->readers.Take(DeadlineIn(budget));
      return sqlite::CollectionNames(*connection);
    });
  }
  [[nodiscard]] std::vector<Finding> Examine(Collection* collection,
                                             std::chrono::milliseconds budget) override;

 private:
  /// Was the lock passed on to this attempt, as a notification said? Then it is done without a turn
  /// to write, for which other processes may queue.
  bool SeesPassedOn(StoreOp& op, Deadline deadline);

  const std::uint32_t generation_ = platform::ForkGeneration();
  const std::chrono::milliseconds busy_timeout_;
  std::unique_ptr<Parts> parts_;
  SqliteDatabase database_;
};

void SqliteStore::Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) {
  if (IsForked()) {
    for (StoreOp* op : ops) op->Fail(Errc::kForked, kForkedText);
    return;
  }
  const Deadline deadline = DeadlineIn(budget);
  if (ops.size() != 1 || !SeesPassedOn(*ops.front(), deadline)) {
    locking::Execute(database_, ops, deadline);
  }
}

bool SqliteStore::SeesPassedOn(StoreOp& op, Deadline deadline) {
  if (op.kind != OpKind::kAcquire || !static_cast<AcquireOp&>(op).seems_granted) return false;
  if (FaultOf(op) != nullptr) return false;
  try {
    const auto connection = parts_->readers.Take(deadline);
    sqlite::LockReader reader(*connection, parts_->around);
    const auto document = reader.Find(sqlite::CollectionOf(op), *op.key);
    auto& acquire = static_cast<AcquireOp&>(op);
    if (document == nullptr || document->malformed || document->lock.born.is_nil() ||
        !rules::HoldsAlready(acquire, document->lock, reader.now())) {
      return false;
    }
    rules::Acquire(acquire, document->lock, reader.now());
    acquire.body = document->body;
    return true;
  } catch (const DatabaseError&) {
    return false;  // the attempt tells
  }
}

std::vector<Finding> SqliteStore::Examine(Collection*, std::chrono::milliseconds budget) {
  return Naming([&] {
    const auto connection = parts_->readers.Take(DeadlineIn(budget));
    return sqlite::ExamineFile(*connection, *parts_->coordinator, parts_->path);
  });
}

/// SQLite's own names for something else than a file would be files of these names here.
void CheckName(const std::filesystem::path& file) {
  const std::string name = file.string();
  if (name == ":memory:") {
    throw std::invalid_argument(
        "doclock: \":memory:\" names no file: a store in memory is OpenMemoryStore(), by its URL "
        "memory:");
  }
  if (name.starts_with("file:")) {
    throw std::invalid_argument(
        "doclock: a SQLite store takes a path, not a URI: write it without \"file:\", and a file "
        "whose name begins so as ./file:");
  }
}

void CheckOptions(const SqliteStoreOptions& options) {
  constexpr std::int64_t kMostPages = 4294967294;  // as many as SQLite can have
  if (options.sync != SqliteSync::kFull && options.sync != SqliteSync::kNormal &&
      options.sync != SqliteSync::kOff) {
    throw std::invalid_argument("doclock: SqliteStoreOptions::sync must be one of SqliteSync");
  }
  if (options.busy_timeout < std::chrono::milliseconds(1) ||
      options.busy_timeout > std::chrono::minutes(1)) {
    throw std::invalid_argument(
        "doclock: SqliteStoreOptions::busy_timeout must be 1 ms to one minute");
  }
  if (options.max_pages < 0 || options.max_pages > kMostPages) {
    throw std::invalid_argument("doclock: SqliteStoreOptions::max_pages must be 0 to 4294967294");
  }
}

}  // namespace

std::shared_ptr<Store> OpenSqliteStore(const std::filesystem::path& file,
                                       SqliteStoreOptions options) {
  CheckOptions(options);
  CheckName(file);
  try {
    return std::make_shared<SqliteStore>(sqlite::OpenDatabase(file, options), options);
  } catch (const DatabaseError& error) {
    throw sqlite::AsStoreException(error, file);
  }
}

}  // namespace doclock
