#include "doclock/stores/sqlite.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "document/collection.h"
#include "locking/locking_store.h"
#include "sqlite/db/reader_pool.h"
#include "sqlite/examine.h"
#include "sqlite/open_file.h"
#include "sqlite/processes/notification_listener.h"
#include "sqlite/query/indexes.h"
#include "sqlite/tables/schema.h"
#include "sqlite/unit.h"
#include "sqlite/writer.h"

namespace doclock {
namespace {

using sqlite::Connection;
using sqlite::DatabaseError;
using sqlite::Deadline;
using sqlite::DeadlineIn;
using sqlite::SqliteCollection;

/// The parts of a store. A forked child does not touch them, not even to destroy them: SQLite's
/// locks and the thread are its parent's.
struct Parts {
  Parts(sqlite::OpenFile opened, const SqliteStoreOptions& options)
      : open(std::move(opened)),
        clock(options.clock ? options.clock : SystemClock()),
        context{*clock, *open.coordinator, open.era, sqlite::FloorOf(open.era.number)},
        readers(open.path, options, *open.files),
        writer(std::move(open.connection), *open.coordinator, options, *open.files),
        listener(std::make_shared<sqlite::NotificationListener>(open.coordinator)) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    // The last connection to close writes its log into the database, and deletes what has the log's
    // name, even another log. While the lock is held, SQLite takes no connection for the last one.
    if (!open.files->IsReplaced()) open.open_lock->Release();
  }

  sqlite::OpenFile open;  ///< Outlives the connections.
  std::shared_ptr<const Clock> clock;
  sqlite::StoreContext context;
  sqlite::ReaderPool readers;
  sqlite::Writer writer;
  std::shared_ptr<sqlite::NotificationListener> listener;
};

/// A file as a database of locks. Its functions throw DatabaseError.
class SqliteDatabase final : public locking::Database {
 public:
  SqliteDatabase(sqlite::OpenFile open, const SqliteStoreOptions& options)
      : Database(locking::InChild::kRefused),
        parts_(std::make_unique<Parts>(std::move(open), options)),
        busy_timeout_(options.busy_timeout.ms()) {}
  ~SqliteDatabase() override {
    if (IsForked()) static_cast<void>(parts_.release());
  }

  /// Says of SQLite's errors which file they are about.
  void ThrowForCaller() const override {
    try {
      throw;
    } catch (const DatabaseError& error) {
      throw sqlite::AsStoreException(error, parts_->open.path);
    } catch (const InDoubtException& error) {
      throw InDoubtException("doclock: " + parts_->open.path.string() + ": " + error.what());
    }
  }

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.reads_apart = true;
    // Processes that learn of their turn by polling would make all others wait for their polls.
    traits.queues = parts_->open.coordinator->has_notifications();
    traits.others_may_wait = parts_->open.coordinator->OthersWatch();
    traits.transactions = true;
    traits.native = NativeHandle::kSqlite;
    return traits;
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    auto collection = std::make_shared<SqliteCollection>(name, fields, default_ttl, opened_);
    CreateTables(*collection);
    ++opened_;
    return collection;
  }

  std::unique_ptr<locking::Unit> Begin(locking::Access access, Deadline deadline) override {
    if (access == locking::Access::kRead) {
      // It may show what is undone once the file is opened again, or lack what appears then.
      sqlite::RequireFlushed(*parts_->open.coordinator);
      return std::make_unique<sqlite::ReadUnit>(parts_->readers, parts_->context, deadline);
    }
    const bool all = access == locking::Access::kWriteAll;
    return std::make_unique<sqlite::WriteUnit>(parts_->writer, parts_->context, deadline, all);
  }

  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    if (!parts_->open.coordinator->has_notifications()) return nullptr;
    return parts_->listener->Add(static_cast<SqliteCollection&>(collection).tag(),
                                 std::move(listener));
  }

  void EnsureIndex(Collection& collection, const IndexSpec& index) override;

  [[nodiscard]] std::optional<std::vector<std::string>> ListCollections(
      Deadline deadline) override {
    return sqlite::CollectionNames(*parts_->readers.Take(deadline));
  }
  [[nodiscard]] std::vector<Finding> Examine(Collection*, Deadline deadline) override {
    const auto connection = parts_->readers.Take(deadline);
    return sqlite::ExamineFile(*connection, *parts_->open.coordinator, parts_->open.path);
  }

 private:
  void CreateTables(const SqliteCollection& collection);

  std::unique_ptr<Parts> parts_;
  const std::chrono::milliseconds busy_timeout_;
  std::size_t opened_ = 0;  ///< How many collections are; Open is called by one thread at a time.
};

void SqliteDatabase::CreateTables(const SqliteCollection& collection) {
  const Deadline deadline = DeadlineIn(busy_timeout_);
  {
    const auto reader = parts_->readers.Take(deadline);
    if (HasCollection(*reader, collection)) return;
  }
  parts_->writer.Transact(
      deadline, [&](Connection& connection) { CreateCollection(connection, collection); });
}

void SqliteDatabase::EnsureIndex(Collection& collection, const IndexSpec& spec) {
  if (spec.held_locks) return;
  const auto& ours = static_cast<SqliteCollection&>(collection);
  const IndexSpec index = WithoutKey(spec);
  const Deadline deadline = DeadlineIn(busy_timeout_);
  const std::string sql = sqlite::IndexSql(ours, index);
  if (sql.empty()) return;
  {
    const auto reader = parts_->readers.Take(deadline);
    if (sqlite::HasIndex(*reader, sql)) return;
  }
  try {
    parts_->writer.Transact(deadline,
                            [&](Connection& connection) { sqlite::CreateIndex(connection, sql); });
  } catch (const DatabaseError& error) {
    if (!error.is_about_values()) throw;
    ThrowRepeatedValues(index.fields);
  }
}

/// SQLite's own names for something else than a file would be files of these names here.
void CheckName(const std::filesystem::path& file) {
  const std::string name = file.string();
  if (name.find('\0') != name.npos) {
    throw std::invalid_argument("doclock: the path of a SQLite store holds a zero byte");
  }
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
    return locking::StoreOn(
        std::make_unique<SqliteDatabase>(sqlite::OpenDatabase(file, options), options),
        options.create);
  } catch (const DatabaseError& error) {
    throw sqlite::AsStoreException(error, file);
  }
}

}  // namespace doclock
