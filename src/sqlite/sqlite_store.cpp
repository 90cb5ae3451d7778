#include "doclock/sqlite_store.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "document/json/row_filter.h"
#include "document/open_collections.h"
#include "document/throttle.h"
#include "platform/fork_generation.h"
#include "rules/fault.h"
#include "sqlite/db/open_file.h"
#include "sqlite/db/reader_pool.h"
#include "sqlite/db/writer.h"
#include "sqlite/operations/examine.h"
#include "sqlite/operations/operations.h"
#include "sqlite/processes/notification_listener.h"
#include "sqlite/query/candidates.h"
#include "sqlite/schema/index_names.h"
#include "sqlite/schema/indexes.h"
#include "sqlite/schema/schema.h"

namespace doclock {
namespace {

using sqlite::Candidate;
using sqlite::Connection;
using sqlite::DatabaseError;
using sqlite::Deadline;
using sqlite::DeadlineIn;
using sqlite::Operations;
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
        writer(std::move(open.connection), *coordinator, around, options.busy_timeout.ms(), *files),
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

class SqliteStore final : public Store {
 public:
  SqliteStore(sqlite::OpenFile open, const SqliteStoreOptions& options)
      : busy_timeout_(options.busy_timeout.ms()),
        create_(options.create),
        parts_(std::make_unique<Parts>(std::move(open), options)) {}
  ~SqliteStore() override {
    if (IsForked()) static_cast<void>(parts_.release());
  }

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.reads_apart = true;
    // Processes that learn of their turn by polling would make all others wait for their polls.
    traits.queues = parts_->coordinator->has_notifications();
    return traits;
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override;
  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const override;
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override;
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override;
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override;
  void EnsureIndex(Collection& collection, const IndexSpec& index) override;
  std::int64_t Purge(Collection& collection, std::int64_t limit,
                     std::chrono::milliseconds budget) override;
  std::unique_ptr<Subscription> Watch(
      Collection& collection, std::function<void(std::optional<std::size_t>)> hint) override;
  [[nodiscard]] bool OthersMayWait(Collection& collection) const noexcept override;
  [[nodiscard]] LockPage ListLocks(Collection& collection, const LockQuery& query,
                                   const std::string& after,
                                   std::chrono::milliseconds budget) override;
  [[nodiscard]] std::vector<std::string> ListCollections(std::chrono::milliseconds budget) override;
  [[nodiscard]] std::vector<Finding> Examine(Collection* collection,
                                             std::chrono::milliseconds budget) override;

 private:
  static SqliteCollection& Ours(Collection& collection) noexcept {
    return static_cast<SqliteCollection&>(collection);
  }
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
    }
  }

  void CreateTables(const SqliteCollection& collection);
  /// Was the lock passed on to this attempt, as a notification said? Then it is done without a turn
  /// to write, for which other processes may queue.
  bool SeesPassedOn(StoreOp& op, Deadline deadline);
  void ExecuteReads(std::span<StoreOp* const> ops, Deadline deadline);
  std::vector<std::int64_t> Purgeable(const SqliteCollection& collection, std::int64_t& after,
                                      std::int64_t limit, Deadline deadline);
  std::int64_t PurgeSome(const SqliteCollection& collection, const std::vector<std::int64_t>& docs,
                         Deadline deadline);

  const std::uint32_t generation_ = platform::ForkGeneration();
  const std::chrono::milliseconds busy_timeout_;
  const bool create_;
  std::unique_ptr<Parts> parts_;
};

std::shared_ptr<Collection> SqliteStore::Open(const std::string& name, const LockFieldNames& fields,
                                              std::chrono::milliseconds default_ttl) {
  return Naming([&]() -> std::shared_ptr<Collection> {
    return parts_->collections.Open(name, fields, default_ttl, [&](std::size_t number) {
      auto collection = std::make_shared<SqliteCollection>(name, fields, default_ttl, number);
      CreateTables(*collection);
      return collection;
    });
  });
}

void SqliteStore::CreateTables(const SqliteCollection& collection) {
  const Deadline deadline = DeadlineIn(busy_timeout_);
  {
    const auto reader = parts_->readers.Take(deadline);
    if (HasCollection(*reader, collection.tables())) return;
  }
  if (!create_) {
    throw NotFoundException("doclock: " + parts_->path.string() + " has no collection " +
                            collection.name());
  }
  parts_->writer.Transact(deadline, [&](Operations&, Connection& connection) {
    CreateCollection(connection, collection.tables());
  });
}

std::shared_ptr<Collection> SqliteStore::Find(const std::string& name) const {
  if (IsForked()) return nullptr;
  return parts_->collections.Find(name);
}

void SqliteStore::Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) {
  if (IsForked()) {
    for (StoreOp* op : ops) op->Fail(Errc::kForked, kForkedText);
    return;
  }
  const Deadline deadline = DeadlineIn(budget);
  const bool reads = std::all_of(ops.begin(), ops.end(),
                                 [](const StoreOp* op) { return op->kind == OpKind::kRead; });
  if (reads) {
    ExecuteReads(ops, deadline);
  } else if (ops.size() > 1 || !SeesPassedOn(*ops.front(), deadline)) {
    parts_->writer.Execute(ops, deadline);
  }
}

void SqliteStore::ExecuteReads(std::span<StoreOp* const> ops, Deadline deadline) {
  try {
    const auto connection = parts_->readers.Take(deadline);
    sqlite::Reader reader(*connection, parts_->around);
    for (StoreOp* op : ops) reader.Execute(static_cast<ReadOp&>(*op));
  } catch (const DatabaseError& error) {
    for (StoreOp* op : ops) {
      if (op->status == OpStatus::kPending) op->Fail(error.errc(), error.what());
    }
  }
}

bool SqliteStore::SeesPassedOn(StoreOp& op, Deadline deadline) {
  if (op.kind != OpKind::kAcquire) return false;
  const std::uint64_t tag = Ours(*op.collection).tag();
  if (!parts_->listener->passed_on().Take(tag, op.hash) || FaultOf(op) != nullptr) return false;
  try {
    const auto connection = parts_->readers.Take(deadline);
    sqlite::Reader reader(*connection, parts_->around);
    return reader.SeesPassedOn(static_cast<AcquireOp&>(op));
  } catch (const DatabaseError&) {
    return false;  // the attempt tells
  }
}

void SqliteStore::Query(Collection& collection, const Filter& filter,
                        const std::function<bool(QueryRow&&)>& sink,
                        std::chrono::milliseconds budget) {
  Naming([&] {
    const auto connection = parts_->readers.Take(DeadlineIn(budget));
    sqlite::Reader reader(*connection, parts_->around);
    std::int64_t shown = 0;
    VisitCandidates(*connection, Ours(collection), filter, [&](Candidate&& found) {
      const sqlite::LoadedLock lock = reader.Load(Ours(collection), found.document.lock);
      // A malformed lock may be held; it is not free.
      const bool locked = lock.malformed || lock.state.IsLive(reader.now());
      if (!StateMatches(filter, locked)) return true;
      QueryRow row{std::move(found.key), std::move(found.document.body), lock.row.version,
                   lock.row.born, locked};
      return sink(std::move(row)) && ++shown != filter.limit();
    });
  });
}

void SqliteStore::AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                              std::chrono::milliseconds budget) {
  // As of any operation: what throws is taken for one that may have happened.
  if (IsForked()) return op.Fail(Errc::kForked, kForkedText);
  if (const char* const fault = FaultOfNext(op.grant)) return op.Fail(Errc::kRefused, fault);
  StoreOp* const alone = &op;
  const auto perform = [&](Operations& operations, Connection& connection, StoreOp&) {
    const SqliteCollection& collection = Ours(*op.collection);
    std::optional<Candidate> chosen;
    const auto look = [&](Candidate&& found) {
      if (!operations.MayTakeNext(collection, found.document.lock)) return true;
      chosen = std::move(found);
      return false;
    };
    if (filter.lock_state() != Filter::LockState::kLocked) {
      VisitCandidates(connection, collection, filter, look);
    }
    if (!chosen) {
      op.status = OpStatus::kMissing;  // only now: a search that breaks off has found nothing out
      return;
    }
    key = std::move(chosen->key);
    op.key = &key;
    op.hash = key.Hash();
    operations.Acquire(op, chosen->document);
  };
  parts_->writer.Execute({&alone, 1}, DeadlineIn(budget), perform);
}

void SqliteStore::EnsureIndex(Collection& collection, const IndexSpec& spec) {
  if (spec.held_locks) return;
  const IndexSpec index = WithoutKey(spec);
  Naming([&] {
    const Deadline deadline = DeadlineIn(busy_timeout_);
    const std::string sql = sqlite::IndexSql(Ours(collection), index);
    if (sql.empty()) return;
    {
      const auto reader = parts_->readers.Take(deadline);
      if (sqlite::HasIndex(*reader, sql)) return;
    }
    try {
      parts_->writer.Transact(deadline, [&](Operations&, Connection& connection) {
        sqlite::CreateIndex(connection, sql);
      });
    } catch (const DatabaseError& error) {
      if (!error.is_about_values()) throw;
      const std::string fields = sqlite::FieldList(index);
      throw ConflictException("doclock: documents already repeat values of the index " + fields,
                              std::nullopt, std::nullopt, fields);
    }
  });
}

std::int64_t SqliteStore::Purge(Collection& collection, std::int64_t limit,
                                std::chrono::milliseconds budget) {
  return Naming([&] {
    const Deadline deadline = DeadlineIn(budget);
    std::int64_t purged = 0, after = INT64_MIN;
    while (purged < limit && std::chrono::steady_clock::now() < deadline) {
      const auto docs = Purgeable(Ours(collection), after, limit - purged, deadline);
      if (!docs.empty()) purged += PurgeSome(Ours(collection), docs, deadline);
      if (after == INT64_MAX) break;
      if (!docs.empty()) detail::RestBetweenSteps(deadline);
    }
    return purged;
  });
}

/// Some rows after `after` whose locks are over. Advances `after`, to the end if there are no more.
std::vector<std::int64_t> SqliteStore::Purgeable(const SqliteCollection& collection,
                                                 std::int64_t& after, std::int64_t limit,
                                                 Deadline deadline) {
  constexpr std::int64_t kAtOnce = 100;  // few: no other process can write meanwhile
  const auto connection = parts_->readers.Take(deadline);
  sqlite::Reader reader(*connection, parts_->around);
  std::vector<std::int64_t> held, over;
  {
    const sqlite::Running find(connection->Prepared(collection.tables(), sqlite::Sql::kHeldIds));
    find->Bind(1, after);
    find->Bind(2, std::min(limit, kAtOnce));
    while (find->Step()) held.push_back(find->Integer(0));
  }
  after = held.empty() ? INT64_MAX : held.back();
  for (const std::int64_t doc : held) {
    if (reader.FindPurgeable(collection, doc)) over.push_back(doc);
  }
  return over;
}

std::int64_t SqliteStore::PurgeSome(const SqliteCollection& collection,
                                    const std::vector<std::int64_t>& docs, Deadline deadline) {
  std::int64_t purged = 0;
  parts_->writer.Transact(deadline, [&](Operations& operations, Connection&) {
    for (const std::int64_t doc : docs) {
      auto lock = operations.FindPurgeable(collection, doc);
      if (!lock) continue;
      operations.Purge(collection, *lock);
      ++purged;
    }
  });
  return purged;
}

std::unique_ptr<Subscription> SqliteStore::Watch(
    Collection& collection, std::function<void(std::optional<std::size_t>)> hint) {
  CheckProcess();
  if (!parts_->coordinator->has_notifications()) return nullptr;
  return parts_->listener->Add(Ours(collection), std::move(hint));
}

bool SqliteStore::OthersMayWait(Collection&) const noexcept {
  return !IsForked() && parts_->coordinator->OthersWatch();
}

LockPage SqliteStore::ListLocks(Collection& collection, const LockQuery& query,
                                const std::string& after, std::chrono::milliseconds budget) {
  return Naming([&] {
    const auto connection = parts_->readers.Take(DeadlineIn(budget));
    return sqlite::Reader(*connection, parts_->around).List(Ours(collection), query, after);
  });
}

std::vector<std::string> SqliteStore::ListCollections(std::chrono::milliseconds budget) {
  return Naming([&] {
    const auto connection = parts_->readers.Take(DeadlineIn(budget));
    return sqlite::CollectionNames(*connection);
  });
}

std::vector<Finding> SqliteStore::Examine(Collection* collection,
                                          std::chrono::milliseconds budget) {
  return Naming([&] {
    const auto connection = parts_->readers.Take(DeadlineIn(budget));
    sqlite::Reader reader(*connection, parts_->around);
    std::vector<Finding> findings =
        sqlite::ExamineFile(*connection, *parts_->coordinator, parts_->path);
    if (collection != nullptr)
      findings.push_back(sqlite::ExamineIntents(reader, Ours(*collection)));
    return findings;
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
