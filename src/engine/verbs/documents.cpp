/// Operations that need no lock: reading, saving by version, queries, lists.

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doclock/json/key.h"
#include "document/json/row_filter.h"
#include "engine/verbs/launch.h"
#include "engine/verbs/write_procedure.h"

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
    result.body = std::move(op.result.body);
    result.version = op.result.version;
    result.born = op.result.born;
    result.locked = op.result.locked;
    return result;
  }

  const Key key;
  ReadOp op;
};

/// How many documents the first page of a walk has at most, and the later ones, which double.
constexpr std::int64_t kFirstPage = 1000, kLongestPage = kPageRows;

/// How many bytes of bodies one query shows at most if the walk remembers what a page has no room
/// for. Without an index each query reads the whole collection.
constexpr std::size_t kFoundBytes = 16 * kPageBytes;

/// A walk over the documents that match a filter, page by page. Between two pages nothing is open:
/// no transaction, no cursor, no connection. Each page has a call's budget.
class Walk {
 public:
  Walk(Engine& engine, Collection& collection, Filter filter)
      : engine_(engine),
        collection_(collection),
        filter_(std::move(filter)),
        remembers_(!filter_.order().empty() && engine.traits().reads_apart) {
    if (filter_.limit() > 0) left_ = filter_.limit();
    if (filter_.after()) last_shown_ = filter_.after()->key;
  }

  [[nodiscard]] bool AtEnd() const noexcept { return left_ == 0 || (all_found_ && found_.empty()); }

  std::vector<QueryRow> NextPage() {
    if (auto closed = WhyClosed(engine_)) closed->Throw();
    std::vector<QueryRow> rows;
    try {
      rows = found_.empty() ? Search() : ReadFound();
    } catch (const StoreException& error) {
      if (!last_shown_) throw;
      throw StoreException(error.errc(), std::string(error.what()) +
                                             "; the walk ended behind the document '" +
                                             last_shown_->ToString() + "'");
    }
    left_ -= static_cast<std::int64_t>(rows.size());
    if (!rows.empty()) last_shown_ = rows.back().key;
    return rows;
  }

 private:
  /// Asks for what comes behind the last query.
  std::vector<QueryRow> Search() {
    const std::int64_t most = std::min(most_, left_);
    std::vector<QueryRow> rows;
    std::size_t bytes = 0;
    QueryRow last;
    const auto take = [&](QueryRow&& row) {
      bytes += row.body.size_hint();
      const bool fits = bytes <= kPageBytes || rows.empty();
      if (!fits && (!remembers_ || bytes > kFoundBytes)) {
        all_found_ = false;  // this document begins the next page
        return false;
      }
      last = row;
      if (fits) {
        rows.push_back(std::move(row));
      } else {
        found_.push_back(std::move(row.key));
      }
      all_found_ = std::ssize(rows) + std::ssize(found_) < most;
      return true;
    };
    all_found_ = true;
    engine_.store().Query(collection_, Filter(filter_).Limit(most), take, engine_.calls().budget());
    most_ = std::min(2 * most_, kLongestPage);
    if (!all_found_) {
      Filter::Position position = PositionOf(filter_, last.key, last.body);
      filter_.After(std::move(position.key), std::move(position.value));
    }
    return rows;
  }

  /// Reads a page of the documents that a query has found. One that is gone, or does not match any
  /// more, is left out.
  std::vector<QueryRow> ReadFound() {
    std::vector<QueryRow> rows;
    std::size_t bytes = 0;
    for (; !found_.empty(); found_.pop_front()) {
      std::optional<QueryRow> row = ReadRow(found_.front());
      if (!row) continue;
      bytes += row->body.size_hint();
      if (bytes > kPageBytes && !rows.empty()) break;
      rows.push_back(std::move(*row));
    }
    return rows;
  }

  std::optional<QueryRow> ReadRow(const Key& key) {
    std::optional<QueryRow> found;
    const auto take = [&](QueryRow&& row) {
      found = std::move(row);
      return false;
    };
    engine_.store().Query(collection_, OfKey(filter_, key), take, engine_.calls().budget());
    return found;
  }

  Engine& engine_;
  Collection& collection_;
  Filter filter_;
  const bool remembers_;  ///< A read by key costs little, and a search in this order may cost much.
  std::deque<Key> found_;  ///< In order, behind what was shown; all before filter_.after().
  std::optional<Key> last_shown_;
  std::int64_t left_ = INT64_MAX;
  std::int64_t most_ = kFirstPage;
  bool all_found_ = false;
};

}  // namespace

ReadResult Read(const EnginePtr& engine, Collection& collection, const Key& key) {
  if (auto closed = WhyClosed(*engine)) return Refused<ReadResult>(std::move(closed));
  KeyRead read(collection, key);
  if (engine->traits().reads_apart) {
    StoreOp* const one[] = {&read.op};
    engine->calls().batcher().ExecuteApart(one);
  } else {
    engine->calls().batcher().Execute(read.op);
  }
  return read.TakeResult();
}

void ReadAsync(const EnginePtr& engine, Collection& collection, Key key, ReadDone done) {
  if (auto closed = WhyClosed(*engine)) {
    return RefuseLater<ReadResult>(*engine, std::move(closed), std::move(done));
  }
  const auto read = std::make_shared<KeyRead>(collection, std::move(key));
  engine->calls().reads().Submit(read->op,
                                 [read, done = std::move(done), background = engine->Background()] {
                                   done(read->TakeResult());
                                 });
}

std::vector<ReadResult> ReadTogether(const EnginePtr& engine, std::vector<ReadSpec> specs) {
  if (auto closed = WhyClosed(*engine)) closed->Throw();
  std::deque<KeyRead> reads;
  std::vector<StoreOp*> ops;
  for (ReadSpec& spec : specs) {
    ops.push_back(&reads.emplace_back(*spec.collection, std::move(spec.key)).op);
  }
  engine->store().ReadTogether(ops, engine->calls().budget());
  std::vector<ReadResult> results;
  for (KeyRead& read : reads) results.push_back(read.TakeResult());
  return results;
}

SaveResult Save(const EnginePtr& engine, SaveSpec spec) {
  return RunHere<Lone<SavePart>>(engine, WhyClosed(*engine), *engine, std::move(spec));
}

void SaveAsync(const EnginePtr& engine, SaveSpec spec, SaveDone done) {
  RunOnWorkers<Lone<SavePart>>(engine, WhyClosed(*engine), std::move(done), *engine,
                               std::move(spec));
}

void ListLocks(const EnginePtr& engine, Collection& collection, const LockQuery& query,
               const std::function<void(LockRow&&)>& sink) {
  if (auto closed = WhyClosed(*engine)) closed->Throw();
  const auto budget = engine->calls().budget();
  std::string after;
  do {
    LockPage page = engine->store().ListLocks(collection, query, after, budget);
    for (LockRow& row : page.rows) sink(std::move(row));
    after = std::move(page.next);
  } while (!after.empty());
}

void Query(const EnginePtr& engine, Collection& collection, const Filter& filter,
           const std::function<bool(QueryRow&&)>& sink) {
  for (Walk walk(*engine, collection, filter); !walk.AtEnd();) {
    for (QueryRow& row : walk.NextPage()) {
      if (!sink(std::move(row))) return;
    }
  }
}

std::vector<QueryRow> QueryAtOnce(const EnginePtr& engine, Collection& collection,
                                  const Filter& filter) {
  if (auto closed = WhyClosed(*engine)) closed->Throw();
  std::vector<QueryRow> rows;
  const auto take = [&](QueryRow&& row) {
    rows.push_back(std::move(row));
    return true;
  };
  engine->store().Query(collection, filter, take, engine->calls().budget());
  return rows;
}

void QueryAsync(const EnginePtr& engine, Collection& collection, Filter filter,
                std::function<void(QueryResult)> done) {
  if (auto closed = WhyClosed(*engine)) {
    return RefuseLater<QueryResult>(*engine, std::move(closed), std::move(done));
  }
  engine->calls().queries().Run([engine, background = engine->Background(), &collection,
                                 filter = std::move(filter), done = std::move(done)] {
    QueryResult result;
    try {
      result.rows = QueryAtOnce(engine, collection, filter);
    } catch (...) {
      result.failure = FailureOfCaught();
    }
    done(std::move(result));
  });
}

void RunOnNotifier(const EnginePtr& engine, std::function<void()> task) {
  engine->runtime().Notify(std::move(task));
}

}  // namespace doclock::detail
