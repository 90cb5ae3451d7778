/// Where the time of a cycle goes: the same lock and release with one more part of doclock each
/// time, beside a lock by hand. The primary's and the client's processor time tell whose it is.

#include "compare.h"
#include "cpu_time.h"
#include "documents.h"
#include "load.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/statements/statements.h"
#include "mongodb_raw.h"

namespace doclock::bench {
namespace {

mongodb::Doc BodyOf(int n) {
  mongodb::Doc body;
  mongodb::AppendMembers(body, SampleTree(n));
  return body;
}

mongodb::Doc FindAndModify(const mongodb::Doc& filter) {
  mongodb::Doc command;
  command.Add("findAndModify", "floor").Add("query", filter);
  return command;
}

/// One caller's lock and release of a document of 1 KB, on a connection of its own.
class Cycle {
 public:
  explicit Cycle(int document) : id_(mongodb::Doc::Of("_id", document)) {
    raw_.Run(RawUpdate("floor", id_, mongodb::Doc::Of("$set", BodyOf(0)), true));
  }
  virtual ~Cycle() = default;
  virtual void Run() = 0;

 protected:
  RawMongo raw_;
  const mongodb::Doc id_;
  int count_ = 0;
};

/// As one writes it without a library: the filters name the lock alone, the times are the client's.
class ByHand final : public Cycle {
 public:
  using Cycle::Cycle;
  void Run() override {
    const Uuid id = NewUuid();
    mongodb::Doc free, lock, mine, changed;
    bson_concat(free.get(), id_.get());
    free.AddNull("lockId");
    lock.Add("lockId", id).Add("until", std::int64_t{++count_});
    mongodb::Doc take = FindAndModify(free);
    take.Add("update", mongodb::Doc::Of("$set", lock)).Add("new", true);
    raw_.Run(take.Add("writeConcern", Majority()));
    bson_concat(mine.get(), id_.get());
    mine.Add("lockId", id);
    bson_concat(changed.get(), BodyOf(count_).get());
    raw_.Run(RawUpdate("floor", mine, mongodb::Doc::Of("$set", changed.AddNull("lockId"))));
  }
};

/// The commands that the store sends, without the store.
class Commands final : public Cycle {
 public:
  explicit Commands(int document) : Cycle(document), key_(document) {}
  void Run() override {
    AcquireOp acquire(floor_, key_);
    acquire.request.grant.lock_id = NewUuid();
    acquire.request.grant.ttl = 30s;
    acquire.request.insert = Body::FromJson(SampleTree(0));
    mongodb::Doc take = FindAndModify(mongodb::AcquireFilter(acquire));
    mongodb::AcquireUpdate(acquire, acquire.request.grant.lock_id).AddTo(take, "update");
    take.Add("new", true).Add("upsert", true).Add("maxTimeMS", 10'000);
    raw_.Run(take.Add("writeConcern", Majority()), [&](const bson_t& reply) {
      bson_iter_t all, version;
      if (!bson_iter_init(&all, &reply) ||
          !bson_iter_find_descendant(&all, "value.lockVersion", &version)) {
        std::abort();
      }
      version_ = bson_iter_as_int64(&version);
    });
    WriteOp release(floor_, key_);
    release.request.lock_id = acquire.request.grant.lock_id;
    release.request.expected = version_;
    release.request.base = Body::FromJson(SampleTree(count_));
    release.request.body = Body::FromJson(SampleTree(++count_));
    mongodb::Doc statement, give;
    statement.Add("q", mongodb::HeldFilter(release, mongodb::ReleaseTo::kNobody));
    mongodb::HeldUpdate(release, mongodb::ReleaseTo::kNobody).AddTo(statement, "u");
    give.Add("update", "floor").Add("updates", mongodb::Array().Add(statement));
    raw_.Run(give.Add("maxTimeMS", 10'000).Add("writeConcern", Majority()));
  }

 private:
  Collection floor_{"floor", {}, 30s};
  const Key key_;
  std::int64_t version_ = 0;
};

struct Cost {
  double rate = 0, client_us = 0, primary_us = 0;
};

/// Also what a cycle costs the processor here and at the primary.
template <class MakeCycle>
Cost CostOf(int callers, MakeCycle make) {
  const double client = CpuMicroseconds(), primary = PrimaryMicroseconds();
  const Load load = Drive(callers, make, 2000ms);
  const auto cycles = static_cast<double>(load.cycles);
  return {load.rate, (CpuMicroseconds() - client) / cycles,
          (PrimaryMicroseconds() - primary) / cycles};
}

template <class Kind>
Cost Raw(int callers) {
  return CostOf(callers,
                [](int me) { return [cycle = std::make_shared<Kind>(me)] { cycle->Run(); }; });
}

/// Through the store, in the caller's thread.
Cost ThroughStore(Store& store, Collection& orders, int callers) {
  return CostOf(callers, [&](int me) {
    return [&, key = Key(me), n = 0]() mutable {
      const auto run = [&](StoreOp& op) {
        StoreOp* const ops[] = {&op};
        store.Execute(ops, 10s);
        if (op.status != OpStatus::kDone) std::abort();
      };
      AcquireOp acquire(orders, key);
      acquire.request.grant.lock_id = NewUuid();
      acquire.request.grant.ttl = 30s;
      acquire.request.insert = Body::FromJson(SampleTree(0));
      run(acquire);
      WriteOp release(orders, key);
      release.request.lock_id = acquire.request.grant.lock_id;
      release.request.expected = acquire.result.version;
      release.request.base = acquire.result.body;
      release.request.body = Body::FromJson(SampleTree(++n));
      run(release);
    };
  });
}

Cost ThroughLibrary(const LockingRepository<Saga>& repository, int callers) {
  return CostOf(callers, [&](int me) {
    return [&repository, key = Key(me), fresh = SampleSaga(me)] {
      auto held = repository.Lock({key, fresh}, {.wait = 60s});
      held->attempts += 1;
      held.Release();
    };
  });
}

void CompareWithByHand(benchmark::State& state, const std::function<Cost(int)>& way) {
  const int callers = static_cast<int>(state.range(0));
  std::vector<double> costs[4];
  const auto note = [&](const Cost& cost, int at) {
    costs[at].push_back(cost.client_us);
    costs[at + 1].push_back(cost.primary_us);
    return cost.rate;
  };
  Compare(
      state, {}, [&] { return note(Raw<ByHand>(callers), 0); },
      [&] { return note(way(callers), 2); }, 5);
  state.counters["floor_client_us"] = Median(costs[0]);
  state.counters["floor_primary_us"] = Median(costs[1]);
  state.counters["client_us"] = Median(costs[2]);
  state.counters["primary_us"] = Median(costs[3]);
}

void ByHandAgain(benchmark::State& state) { CompareWithByHand(state, Raw<ByHand>); }
void ItsCommands(benchmark::State& state) { CompareWithByHand(state, Raw<Commands>); }

void ItsStore(benchmark::State& state) {
  const auto store = OpenMongodbStore(MongodbStoreUri());
  const auto orders = store->Open("orders", {}, 30s);
  CompareWithByHand(state, [&](int callers) { return ThroughStore(*store, *orders, callers); });
}

void TheLibrary(benchmark::State& state) {
  LockManager manager{OpenMongodbStore(MongodbStoreUri())};
  const LockingRepository<Saga> repository{manager, "sagas"};
  CompareWithByHand(state, [&](int callers) { return ThroughLibrary(repository, callers); });
}

void Each(benchmark::internal::Benchmark* row) {
  row->ArgName("callers")->Arg(1)->Arg(8)->Iterations(1)->Unit(benchmark::kMillisecond);
}
BENCHMARK(ByHandAgain)->Apply(Each);
BENCHMARK(ItsCommands)->Apply(Each);
BENCHMARK(ItsStore)->Apply(Each);
BENCHMARK(TheLibrary)->Apply(Each);

}  // namespace
}  // namespace doclock::bench
