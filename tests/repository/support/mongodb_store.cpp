#include "repository/support/mongodb_store.h"

#ifdef DOCLOCK_TEST_STORES_ON_MONGODB

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "doclock/mongodb_store.h"
#include "doclock/testing/faulty_store.h"
#include "mongodb/support/raw_server.h"

namespace doclock {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// A store whose server seems to use another clock. The server's own clock cannot be moved, so
/// before each call this moves the dates of all locks by the drift between the two clocks.
class InStep final : public testing::FaultyStore {
 public:
  InStep(std::shared_ptr<Store> inner, std::shared_ptr<mongo_test::Database> database,
         std::shared_ptr<const Clock> clock)
      : FaultyStore(std::move(inner)), database_(std::move(database)), clock_(std::move(clock)) {}

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   milliseconds default_ttl) override {
    collections_.insert(name);
    return FaultyStore::Open(name, fields, default_ttl);
  }
  void Execute(std::span<StoreOp* const> ops, milliseconds budget) override {
    FallIn();
    FaultyStore::Execute(ops, budget);
    for (const StoreOp* const op : ops) {
      // Dates that are moved on must not revive it.
      if (EndsLease(*op)) {
        Age(op->collection->name(), std::chrono::minutes(1), mongodb::Doc::Of("_id", *op->key));
      }
    }
  }
  void Commit(CommitOp& commit, milliseconds budget) override {
    FallIn();
    FaultyStore::Commit(commit, budget);
  }
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink, milliseconds budget) override {
    FallIn();
    FaultyStore::Query(collection, filter, sink, budget);
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key, milliseconds budget) override {
    FallIn();
    FaultyStore::AcquireNext(filter, op, key, budget);
  }
  std::int64_t Purge(Collection& collection, std::int64_t limit, milliseconds budget) override {
    FallIn();
    return FaultyStore::Purge(collection, limit, budget);
  }
  /// None: a change stream has a thread of its own, and virtual time has but one.
  std::unique_ptr<Subscription> Watch(Collection&, HintListener) override { return nullptr; }
  [[nodiscard]] LockPage ListLocks(Collection& collection, const LockQuery& query,
                                   const std::string& after, milliseconds budget) override {
    FallIn();
    return FaultyStore::ListLocks(collection, query, after, budget);
  }

 private:
  /// The server goes on by itself; so little of it does not matter.
  static constexpr milliseconds kUnnoticed{20};

  /// As testing::ExpireLock does.
  static bool EndsLease(const StoreOp& op) {
    if (op.kind != OpKind::kWrite || op.status != OpStatus::kDone) return false;
    const auto& write = static_cast<const WriteOp&>(op);
    return write.write == WriteKind::kCheckpoint && write.ttl == milliseconds(0);
  }

  void FallIn() {
    const TimePoint now = clock_->Now();
    const nanoseconds real = std::chrono::steady_clock::now() - began_real_;
    const auto drift =
        std::chrono::floor<milliseconds>((now - began_) - real - nanoseconds(moved_));
    if (now == last_ && drift > -kUnnoticed) return;
    last_ = now;
    if (drift == milliseconds(0)) return;
    for (const std::string& collection : collections_) Age(collection, drift);
    moved_ += drift;
  }
  /// Makes all dates of the locks older, of the documents that `which` matches.
  void Age(const std::string& collection, milliseconds by, const mongodb::Doc& which = {}) {
    mongodb::Array statements;
    for (const char* field : {"lockTime", "lockClosed"}) {
      mongodb::Doc filter;
      bson_concat(filter.get(), which.get());
      filter.Add(field, mongodb::Doc::Of("$type", "date"));
      statements.Add(Statement(filter, field, Earlier(field, by)));
    }
    mongodb::Doc filter;
    bson_concat(filter.get(), which.get());
    filter.Add("lockReaders", mongodb::Doc::Of("$type", "array"));
    statements.Add(Statement(filter, "lockReaders", EarlierReaders(by)));
    mongodb::Doc command;
    command.Add("update", std::string_view(collection)).Add("updates", statements);
    command.Add("writeConcern", mongodb::Doc::Of("w", 1));
    database_->Run(command);
  }
  static mongodb::Doc Earlier(const std::string& field, milliseconds by) {
    mongodb::Array difference;
    difference.Add(std::string_view("$" + field)).Add(std::int64_t{by.count()});
    return mongodb::Doc::Of("$subtract", difference);
  }
  static mongodb::Doc EarlierReaders(milliseconds by) {
    mongodb::Array parts;
    parts.Add(std::string_view("$$this")).Add(mongodb::Doc::Of("time", Earlier("$this.time", by)));
    mongodb::Doc map = mongodb::Doc::Of("input", "$lockReaders");
    map.Add("in", mongodb::Doc::Of("$mergeObjects", parts));
    return mongodb::Doc::Of("$map", map);
  }
  static mongodb::Doc Statement(const mongodb::Doc& filter, const char* field,
                                const mongodb::Doc& value) {
    mongodb::Array stages;
    stages.Add(mongodb::Doc::Of("$set", mongodb::Doc::Of(field, value)));
    mongodb::Doc statement;
    statement.Add("q", filter).Add("u", stages).Add("multi", true);
    return statement;
  }

  const std::shared_ptr<mongo_test::Database> database_;
  const std::shared_ptr<const Clock> clock_;
  const TimePoint began_ = clock_->Now();
  const std::chrono::steady_clock::time_point began_real_ = std::chrono::steady_clock::now();
  TimePoint last_ = began_;
  milliseconds moved_{0};
  std::set<std::string> collections_;
};

}  // namespace

std::shared_ptr<Store> OpenMongodb(std::shared_ptr<const Clock> clock) {
  const auto database = std::make_shared<mongo_test::Database>(mongo_test::SetUri());
  struct Both {
    std::shared_ptr<mongo_test::Database> database;
    std::shared_ptr<Store> store;  // goes first
  };
  const auto both = std::make_shared<Both>(database, OpenMongodbStore(database->uri()));
  const std::shared_ptr<Store> store{both, both->store.get()};
  return clock ? std::make_shared<InStep>(store, database, std::move(clock)) : store;
}

}  // namespace doclock

#endif
