/// Operations that need no lock: reading, saving by version, queries, lists.

#include <utility>
#include <vector>

#include "engine/procedures/save_procedure.h"
#include "engine/verbs/launch.h"

namespace doclock::detail {
namespace {

/// A read that owns its key.
struct KeyRead {
  KeyRead(Collection& collection, Key k) : key(std::move(k)), op(collection, key) {}
  KeyRead(const KeyRead&) = delete;
  KeyRead& operator=(const KeyRead&) = delete;

  ReadResult TakeResult() noexcept {
    ReadResult result;
    if (op.status != OpStatus::kDone) {
      result.failure = FailureOf(op);
      return result;
    }
    result.body = std::move(op.body);
    result.version = op.version;
    result.born = op.born;
    result.locked = op.locked;
    return result;
  }

  const Key key;
  ReadOp op;
};

/// All rows of a query. A store's sink may not call the store, so the callers' sinks run
/// afterwards.
std::vector<QueryRow> RowsOf(Engine& engine, Collection& collection, const Filter& filter) {
  if (auto closed = WhyClosed(engine)) closed->Throw();
  std::vector<QueryRow> rows;
  engine.store().Query(
      collection, filter,
      [&rows](QueryRow&& row) {
        rows.push_back(std::move(row));
        return true;
      },
      engine.options().call_budget.ms());
  return rows;
}

}  // namespace

ReadResult Read(const EnginePtr& engine, Collection& collection, const Key& key) {
  if (auto closed = WhyClosed(*engine)) return Refused<ReadResult>(std::move(closed));
  KeyRead read(collection, key);
  if (engine->traits().reads_apart) {
    engine->batcher().ExecuteApart(read.op);
  } else {
    engine->batcher().Execute(read.op);
  }
  return read.TakeResult();
}

void ReadAsync(const EnginePtr& engine, Collection& collection, Key key, ReadDone done) {
  if (auto closed = WhyClosed(*engine)) {
    return RefuseLater<ReadResult>(*engine, std::move(closed), std::move(done));
  }
  const auto read = std::make_shared<KeyRead>(collection, std::move(key));
  engine->reads().Submit(read->op,
                         [read, done = std::move(done), background = engine->Background()] {
                           done(read->TakeResult());
                         });
}

SaveResult Save(const EnginePtr& engine, SaveSpec spec) {
  return RunHere<SaveProcedure>(engine, WhyClosed(*engine), *engine, std::move(spec));
}

void SaveAsync(const EnginePtr& engine, SaveSpec spec, SaveDone done) {
  RunOnWorkers<SaveProcedure>(engine, WhyClosed(*engine), std::move(done), *engine,
                              std::move(spec));
}

void ListLocks(const EnginePtr& engine, Collection& collection, const LockQuery& query,
               const std::function<void(LockRow&&)>& sink) {
  if (auto closed = WhyClosed(*engine)) closed->Throw();
  const auto budget = engine->options().call_budget.ms();
  std::string after;
  do {
    LockPage page = engine->store().ListLocks(collection, query, after, budget);
    for (LockRow& row : page.rows) sink(std::move(row));
    after = std::move(page.next);
  } while (!after.empty());
}

void Query(const EnginePtr& engine, Collection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink) {
  for (QueryRow& row : RowsOf(*engine, collection, filter)) {
    if (!sink(std::move(row))) return;
  }
}

void QueryAsync(const EnginePtr& engine, Collection& collection, Filter filter,
                std::function<void(QueryResult)> done) {
  if (auto closed = WhyClosed(*engine)) {
    return RefuseLater<QueryResult>(*engine, std::move(closed), std::move(done));
  }
  engine->queries().Run([engine, background = engine->Background(), &collection,
                         filter = std::move(filter), done = std::move(done)] {
    QueryResult result;
    try {
      result.rows = RowsOf(*engine, collection, filter);
    } catch (...) {
      result.failure = FailureOfCaught();
    }
    done(std::move(result));
  });
}

void RunOnNotifier(const EnginePtr& engine, std::function<void()> task) {
  engine->runtime().Notify(std::move(task));
}

Store& StoreOf(const EnginePtr& engine) noexcept { return engine->store(); }

}  // namespace doclock::detail
