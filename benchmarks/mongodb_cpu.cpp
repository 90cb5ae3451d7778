/// The client's cost of a cycle: the processor's time of this process, beside the same commands
/// sent with ready-made BSON.

#include "compare.h"
#include "cpu_time.h"
#include "documents.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/statements/statements.h"
#include "mongodb_raw.h"

namespace doclock::bench {
namespace {

constexpr int kCycles = 300;

/// Of one cycle, in microseconds of the processor.
template <class Cycle>
double CpuOf(Cycle cycle) {
  const double before = CpuMicroseconds();
  for (int i = 0; i < kCycles; ++i) cycle(i);
  return (CpuMicroseconds() - before) / kCycles;
}

/// The commands of a lock and a release, as the store sends them, made beforehand; the answers are
/// received and not looked at.
class ReadyMade {
 public:
  explicit ReadyMade(std::size_t bytes) {
    const Uuid id = NewUuid();
    mongodb::Doc body;
    mongodb::AppendMembers(body, SampleTree(1, bytes));
    raw_.Run(RawUpdate("floor", mongodb::Doc::Of("_id", 1), mongodb::Doc::Of("$set", body), true));
    const Key key(1);
    Collection floor("floor", {}, 30s);
    AcquireOp acquire(floor, key);
    acquire.request.grant.lock_id = id;
    acquire.request.grant.ttl = 30s;
    acquire.request.insert = Body::FromJson(SampleTree(1, bytes));
    lock_.Add("findAndModify", "floor").Add("query", mongodb::AcquireFilter(acquire));
    mongodb::AcquireUpdate(acquire, id).AddTo(lock_, "update");
    lock_.Add("new", true).Add("upsert", true).Add("maxTimeMS", 10'000);
    lock_.Add("writeConcern", Majority());
    mongodb::Doc held = mongodb::Doc::Of("_id", 1);
    held.Add("lockId", id);
    body.AddNull("lockId");
    body.Add("lockReleased", id);
    mongodb::Doc clear;
    clear.Add("$set", body).Add("$inc", mongodb::Doc::Of("lockVersion", std::int64_t{1}));
    release_ = RawUpdate("floor", held, clear);
    release_.Add("maxTimeMS", 10'000);
  }

  void Cycle() {
    raw_.Run(lock_);
    raw_.Run(release_, [](const bson_t& reply) {
      bson_iter_t iter;
      if (!bson_iter_init_find(&iter, &reply, "nModified") || bson_iter_as_int64(&iter) != 1)
        std::abort();
    });
  }

 private:
  RawMongo raw_;
  mongodb::Doc lock_, release_;
};

/// The same through the store, with bodies that change as a whole.
class ThroughStore {
 public:
  explicit ThroughStore(std::size_t bytes)
      : store_(OpenMongodbStore(MongodbStoreUri())),
        orders_(store_->Open("orders", {}, 30s)),
        bodies_{Changed("a", bytes), Changed("b", bytes)} {}

  void Cycle(int i) {
    AcquireOp acquire(*orders_, key_);
    acquire.request.grant.lock_id = NewUuid();
    acquire.request.grant.ttl = 30s;
    acquire.request.insert = bodies_[0];
    Run(acquire);
    WriteOp release(*orders_, key_);
    release.request.lock_id = acquire.request.grant.lock_id;
    release.request.expected = acquire.result.version;
    release.request.body = bodies_[static_cast<std::size_t>(i % 2)];
    Run(release);
  }

 private:
  static Body Changed(const char* word, std::size_t bytes) {
    nlohmann::json tree = SampleTree(1, bytes);
    tree["step"] = word;
    return Body::FromJson(std::move(tree));
  }
  void Run(StoreOp& op) {
    StoreOp* const ops[] = {&op};
    store_->Execute(ops, 10s);
    if (op.status != OpStatus::kDone) std::abort();
  }

  const std::shared_ptr<Store> store_;
  const std::shared_ptr<Collection> orders_;
  const Key key_{1};
  const Body bodies_[2];
};

/// The codec's part of a cycle: one body out, one in.
double CodecMicroseconds(std::size_t bytes) {
  const nlohmann::json tree = SampleTree(1, bytes);
  const LockFieldNames names;
  mongodb::Doc doc;
  return CpuOf([&](int) {
    doc.Clear();
    mongodb::AppendMembers(doc, tree);
    benchmark::DoNotOptimize(mongodb::ReadBody(*doc.get(), names));
  });
}

void MongodbClientCpu(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  DropMongodb();
  ReadyMade ready(bytes);
  ThroughStore ours(bytes);
  ours.Cycle(0);
  ready.Cycle();
  Compare(
      state, {.value = bytes > 1024 ? 0 : 1.3, .at_most = true},
      [&] { return CpuOf([&](int) { ready.Cycle(); }); },
      [&] { return CpuOf([&](int i) { ours.Cycle(i); }); }, 7);
  state.counters["codec_us"] = CodecMicroseconds(bytes);
}
BENCHMARK(MongodbClientCpu)
    ->ArgName("bytes")
    ->Arg(1024)
    ->Arg(102'400)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
