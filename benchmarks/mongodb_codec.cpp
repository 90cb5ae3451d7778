/// A body to BSON and back, beside what the JSON library does of its own.

#include <atomic>
#include <cstdlib>
#include <new>

#include "compare.h"
#include "documents.h"
#include "mongodb/bson/body_codec.h"

namespace doclock::bench {
namespace {

using nlohmann::json;

std::atomic<long> allocations{0};

/// An order with enough lines for about `bytes` of JSON.
json OrderTree(std::size_t bytes) {
  json tree = SampleTree(1, 1);
  json& lines = tree["lines"];
  const std::size_t line =
      json{{"sku", "A-00000"}, {"qty", 7}, {"price", 12.5}, {"note", "none"}}.dump().size() + 1;
  for (std::size_t i = 0; i * line < bytes; ++i) {
    lines.push_back({{"sku", "A-" + std::to_string(10000 + i)},
                     {"qty", i % 10},
                     {"price", static_cast<double>(i) + 0.5},
                     {"note", "none"}});
  }
  return tree;
}

json TreeOf(std::size_t bytes) { return bytes <= 1024 ? SampleTree(1, bytes) : OrderTree(bytes); }

void Outwards(benchmark::State& state, const json& tree, Target target = {.value = 1.5}) {
  mongodb::Doc doc;
  mongodb::AppendMembers(doc, tree);
  doc.Clear();
  const long before = allocations.load();
  mongodb::AppendMembers(doc, tree);
  const long ours = allocations.load() - before;
  Compare(
      state, target, [&] { return Rate([&] { benchmark::DoNotOptimize(json::to_bson(tree)); }); },
      [&] {
        return Rate([&] {
          doc.Clear();
          mongodb::AppendMembers(doc, tree);
          benchmark::DoNotOptimize(doc.get());
        });
      });
  state.counters["bytes"] = static_cast<double>(doc.get()->len);
  state.counters["allocations"] = static_cast<double>(ours);
}

void Inwards(benchmark::State& state, const json& tree) {
  mongodb::Doc doc;
  mongodb::AppendMembers(doc, tree);
  const std::vector<std::uint8_t> bytes = json::to_bson(tree);
  const LockFieldNames fields;
  if (mongodb::ReadBody(*doc.get(), fields) != json::from_bson(bytes)) std::abort();
  Compare(
      state, {.value = 1.5},
      [&] { return Rate([&] { benchmark::DoNotOptimize(json::from_bson(bytes)); }); },
      [&] {
        return Rate([&] { benchmark::DoNotOptimize(mongodb::ReadBody(*doc.get(), fields)); });
      });
}

void BodyToBson(benchmark::State& state, std::size_t bytes) { Outwards(state, TreeOf(bytes)); }
BENCHMARK_CAPTURE(BodyToBson, 1KB, 1024)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BodyToBson, 100KB, 100 * 1024)->Iterations(1)->Unit(benchmark::kMillisecond);

void BsonToBody(benchmark::State& state, std::size_t bytes) { Inwards(state, TreeOf(bytes)); }
BENCHMARK_CAPTURE(BsonToBody, 1KB, 1024)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BsonToBody, 100KB, 100 * 1024)->Iterations(1)->Unit(benchmark::kMillisecond);

/// One long text instead of many short fields: outwards both come down to one copy of it.
void TextToBson(benchmark::State& state) { Outwards(state, SampleTree(1, 100 * 1024), {}); }
BENCHMARK(TextToBson)->Iterations(1)->Unit(benchmark::kMillisecond);

void BsonToText(benchmark::State& state) { Inwards(state, SampleTree(1, 100 * 1024)); }
BENCHMARK(BsonToText)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

void CountAllocation() noexcept { allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace doclock::bench

void* operator new(std::size_t size) {
  doclock::bench::CountAllocation();
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
