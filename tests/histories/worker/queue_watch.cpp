#include "histories/worker/queue_watch.h"

#include <utility>

#include "histories/worker/passing_store.h"

namespace doclock::histories {
namespace {

class QueueWatch final : public PassingStore {
 public:
  QueueWatch(std::shared_ptr<Store> inner, Record& record)
      : PassingStore(std::move(inner)), record_(record) {}

 private:
  void ExecuteOne(AcquireOp& op, Budget budget) override {
    // The entry counts from some moment after this one.
    const std::int64_t sent = Record::Now();
    Pass(op, budget);
    if (op.status == OpStatus::kBusy && op.result.queued) {
      record_.Write({{"e", "stands"}, {"sent", sent}});
    } else if (op.status == OpStatus::kDone && op.result.passed_on) {
      record_.Write({{"e", "passed on"}});
    }
  }

  Record& record_;
};

}  // namespace

std::shared_ptr<Store> WatchQueue(std::shared_ptr<Store> store, Record& record) {
  return std::make_shared<QueueWatch>(std::move(store), record);
}

}  // namespace doclock::histories
