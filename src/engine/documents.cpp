/// Operations that need no held lock: reading, saving by version, releasing by value, queries.

#include <exception>
#include <new>
#include <utility>

#include "engine/engine.h"
#include "engine/procedures/procedure.h"
#include "engine/procedures/save_procedure.h"

namespace doclock::detail {
namespace {

FailurePtr ClosedFailure(Engine& engine) {
  return engine.closed() ? MakeFailure(Errc::kClosed, "the LockManager is closed") : nullptr;
}

/// Reports a failure in the result, where asynchronous callers expect it, instead of throwing.
template <class Result, class Done>
bool RefusedLater(Engine& engine, Done& done) {
  FailurePtr closed = ClosedFailure(engine);
  if (!closed) return false;
  const auto result = std::make_shared<Result>();
  result->failure = std::move(closed);
  engine.runtime().Notify([done = std::move(done), result] { done(std::move(*result)); });
  return true;
}

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

/// A release by value. Its lease's deadline is unknown here, so only the mark of the release can
/// settle doubt. The mark is its own: the handle, or another copy of the entity, would leave the
/// lock id as the mark, with another body.
class ValueReleaseProcedure final : public Procedure {
 public:
  ValueReleaseProcedure(Engine& engine, ValueRelease release)
      : engine_(engine),
        release_(std::move(release)),
        write_(*release_.collection, release_.key),
        read_(*release_.collection, release_.key, write_.hash),
        give_up_(engine.Now() + engine.options().call_budget.ms()) {
    write_.lock_id = release_.lock_id;
    write_.mark = release_.mark.is_nil() ? NewUuid() : release_.mark;
    write_.mode = release_.mode;
    if (release_.mode == LockMode::kExclusive) write_.expected = release_.version;
    write_.body = release_.fields;
    write_.merge = true;
  }

  Step Next() override {
    if (release_.lock_id.is_nil()) return Finish(NotOwner());
    if (!looking_) {
      if (write_.status == OpStatus::kPending) return {&write_};
      if (write_.status == OpStatus::kDone) return Finish(nullptr);
      if (write_.status == OpStatus::kInDoubt) doubted_ = true;
      if (!doubted_) return Finish(Refusal());
      looking_ = true;
      return {&read_};
    }
    return AfterLook();
  }

  void Interrupt() noexcept override { Finish(Unknown()); }

  FailurePtr TakeFailure() { return std::move(failure_); }

 private:
  Step AfterLook() {
    if (read_.status == OpStatus::kDone && read_.released == write_.mark) {
      return Finish(nullptr);
    }
    // Still held, and moved on by its holder: at that version it was not released, and never will.
    if (read_.status == OpStatus::kDone && release_.version != kAnyVersion &&
        read_.lock_id == release_.lock_id && read_.version != release_.version) {
      return Finish(NotOwner());
    }
    const auto pause = backoff_.Next();
    const bool late = engine_.closed() || engine_.Now() + pause >= give_up_;
    if (late) return Finish(Unknown());
    if (read_.status == OpStatus::kDone && MayStillHold(read_.lock_id)) {
      looking_ = false;  // not yet, or not at all: the same again
      return {&write_, pause};
    }
    if (read_.status == OpStatus::kFailed) return {&read_, pause};
    return Finish(Unknown());
  }

  /// Of a share the document does not show whether it is there; trying again does.
  [[nodiscard]] bool MayStillHold(const Uuid& shown) const noexcept {
    if (release_.mode == LockMode::kExclusive) return shown == release_.lock_id;
    const bool gone = write_.status == OpStatus::kLost || write_.status == OpStatus::kMissing;
    return shown == kSharedLockId && !gone;
  }
  FailurePtr NotOwner() const {
    return MakeFailure(Errc::kNotOwner, [&] {
      return "the entity does not hold the lock of " +
             Describe(*release_.collection, release_.key) + "; nothing was written";
    });
  }
  FailurePtr Refusal() const {
    if (write_.status == OpStatus::kLost || write_.status == OpStatus::kMissing) return NotOwner();
    return FailureOf(write_);
  }
  FailurePtr Unknown() noexcept {
    engine_.events().InDoubt(*release_.collection, release_.key);
    return MakeFailure(Errc::kInDoubt, [&] {
      return "whether " + Describe(*release_.collection, release_.key) + " was released is unknown";
    });
  }
  Step Finish(FailurePtr failure) noexcept {
    failure_ = std::move(failure);
    return {};
  }

  Engine& engine_;
  const ValueRelease release_;
  WriteOp write_;
  ReadOp read_;
  const TimePoint give_up_;
  Backoff backoff_;
  bool looking_ = false;
  bool doubted_ = false;
  FailurePtr failure_;
};

/// The key of a released lock may have local waiters.
void AfterValueRelease(Engine& engine, Collection& collection, const Key& key) {
  engine.Freed(collection, key.Hash());
}

}  // namespace

ReadResult Read(const EnginePtr& engine, Collection& collection, const Key& key) {
  if (auto closed = ClosedFailure(*engine)) {
    ReadResult result;
    result.failure = std::move(closed);
    return result;
  }
  KeyRead read(collection, key);
  if (engine->traits().reads_apart) {
    engine->batcher().ExecuteApart(read.op);
  } else {
    engine->batcher().Execute(read.op);
  }
  return read.TakeResult();
}

void ReadAsync(const EnginePtr& engine, Collection& collection, Key key, ReadDone done) {
  if (RefusedLater<ReadResult>(*engine, done)) return;
  const auto read = std::make_shared<KeyRead>(collection, std::move(key));
  auto finish = [engine, background = engine->Background(), read, done = std::move(done)] {
    done(read->TakeResult());
  };
  if (!engine->traits().reads_apart) return engine->batcher().Submit(read->op, std::move(finish));
  engine->key_reads().Run([engine, read, finish = std::move(finish)] {
    engine->batcher().ExecuteApart(read->op);
    finish();
  });
}

SaveResult Save(const EnginePtr& engine, SaveSpec spec) {
  if (auto closed = ClosedFailure(*engine)) {
    SaveResult result;
    result.failure = std::move(closed);
    return result;
  }
  SaveProcedure save(*engine, std::move(spec));
  Run(*engine, save);
  return save.TakeResult();
}

void SaveAsync(const EnginePtr& engine, SaveSpec spec, SaveDone done) {
  if (RefusedLater<SaveResult>(*engine, done)) return;
  const auto save = std::make_shared<SaveProcedure>(*engine, std::move(spec));
  RunAsync(engine, save, [engine, background = engine->Background(), save, done = std::move(done)] {
    done(save->TakeResult());
  });
}

FailurePtr ReleaseByValue(const EnginePtr& engine, ValueRelease release) {
  if (auto closed = ClosedFailure(*engine)) return closed;
  Collection& collection = *release.collection;
  const Key key = release.key;
  ValueReleaseProcedure procedure(*engine, std::move(release));
  Run(*engine, procedure);
  AfterValueRelease(*engine, collection, key);
  return procedure.TakeFailure();
}

void ReleaseByValueAsync(const EnginePtr& engine, ValueRelease release, WriteDone done) {
  if (FailurePtr closed = ClosedFailure(*engine)) {
    engine->runtime().Notify(
        [done = std::move(done), failure = std::make_shared<FailurePtr>(std::move(closed))] {
          done(std::move(*failure));
        });
    return;
  }
  Collection& collection = *release.collection;
  const Key key = release.key;
  const auto procedure = std::make_shared<ValueReleaseProcedure>(*engine, std::move(release));
  RunAsync(engine, procedure,
           [engine, background = engine->Background(), procedure, &collection, key,
            done = std::move(done)] {
             done(procedure->TakeFailure());
             AfterValueRelease(*engine, collection, key);
           });
}

void ListLocks(const EnginePtr& engine, Collection& collection, const LockQuery& query,
               const std::function<void(LockRow&&)>& sink) {
  if (auto closed = ClosedFailure(*engine)) closed->Throw();
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
  if (auto closed = ClosedFailure(*engine)) closed->Throw();
  // Rows are collected first, so that the sink may call the library.
  std::vector<QueryRow> rows;
  engine->store().Query(
      collection, filter,
      [&rows](QueryRow&& row) {
        rows.push_back(std::move(row));
        return true;
      },
      engine->options().call_budget.ms());
  for (auto& row : rows) {
    if (!sink(std::move(row))) return;
  }
}

void QueryAsync(const EnginePtr& engine, Collection& collection, Filter filter,
                std::function<void(QueryResult)> done) {
  if (RefusedLater<QueryResult>(*engine, done)) return;
  engine->queries().Run([engine, background = engine->Background(), &collection,
                         filter = std::move(filter), done = std::move(done)] {
    QueryResult result;
    try {
      Query(engine, collection, filter, [&result](QueryRow&& row) {
        result.rows.push_back(std::move(row));
        return true;
      });
    } catch (const Error& e) {
      result.failure = MakeFailure(e.errc(), [&] { return e.what(); });
    } catch (const std::bad_alloc&) {
      result.failure = NoMemory();
    } catch (const std::exception& e) {
      result.failure = MakeFailure(Errc::kUnavailable, [&] { return e.what(); });
    }
    done(std::move(result));
  });
}

void RunOnNotifier(const EnginePtr& engine, std::function<void()> task) {
  engine->runtime().Notify(std::move(task));
}

Store& StoreOf(const EnginePtr& engine) noexcept { return engine->store(); }

}  // namespace doclock::detail
