/// Which workers the batcher starts.

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/calls/batcher.h"
#include "engine/runtime/hooked_runtime.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

/// A batcher whose workers a test starts.
class StartedWorkersTest : public EngineTest {
 protected:
  std::shared_ptr<Batcher> MakeBatcher(int lanes) {
    store->lanes = lanes;
    return std::make_shared<Batcher>(store, *hooked, 10s);
  }
  void RunStarted() {
    for (const auto& task : std::exchange(started, {})) task();
  }

  std::vector<Runtime::Task> started;
  std::shared_ptr<HookedRuntime> hooked = [this] {
    auto runs = std::make_shared<HookedRuntime>(runtime);
    runs->on_work = [this](Runtime::Task task) { started.push_back(std::move(task)); };
    return runs;
  }();
};

TEST_F(StartedWorkersTest, AWorkerThatFindsNothingToDoGivesItsLaneBack) {
  const auto batcher = MakeBatcher(2);
  const Key a("a"), b("b");
  for (int i = 0; i < 5; ++i) {
    ReadOp first(*collection, a), second(*collection, b);
    int answers = 0;
    batcher->Submit(first, [&] { ++answers; });
    batcher->Submit(second, [&] { ++answers; });
    ASSERT_EQ(started.size(), 2u) << "a lane is missing, round " << i;
    RunStarted();
    ASSERT_EQ(answers, 2) << i;
  }
}

TEST_F(StartedWorkersTest, AStoreThatAnswersAtOnceIsAskedByEachCallerItself) {
  const auto batcher = MakeBatcher(1);
  const Key a("a"), b("b");
  ReadOp first(*collection, a), second(*collection, b);
  store->OnExecute([&](std::span<StoreOp* const> ops) {
    if (ops.front() == &first) batcher->Execute(second);
  });
  batcher->Execute(first);
  EXPECT_EQ(first.status, OpStatus::kMissing);
  EXPECT_EQ(second.status, OpStatus::kMissing);
  store->OnExecute({});
}

}  // namespace
}  // namespace doclock::detail
