#include "testing/fault_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace doclock::testing {

void FaultPlan::Inject(Fault fault) {
  const std::lock_guard guard(mutex_);
  faults_.push_back({std::move(fault)});
}

int FaultPlan::Heal() {
  const std::lock_guard guard(mutex_);
  const auto unused = std::ranges::count(faults_, false, &Planned::struck);
  faults_.clear();
  return static_cast<int>(unused);
}

void FaultPlan::Reset() {
  const std::lock_guard guard(mutex_);
  counts_.clear();
  calls_ = 0;
}

void FaultPlan::CountCall() {
  const std::lock_guard guard(mutex_);
  ++calls_;
}

int FaultPlan::Count(OpKind kind) const {
  const std::lock_guard guard(mutex_);
  const auto found = counts_.find(kind);
  return found == counts_.end() ? 0 : found->second;
}

int FaultPlan::Calls() const {
  const std::lock_guard guard(mutex_);
  return calls_;
}

bool FaultPlan::Concerns(const Fault& fault, OpKind kind, const Key* key) {
  if (fault.times <= 0 || (fault.op && *fault.op != kind)) return false;
  return !fault.key || (key != nullptr && *fault.key == *key);
}

std::optional<Fault::Kind> FaultPlan::Strike(OpKind kind, const Key* key) {
  const std::lock_guard guard(mutex_);
  ++counts_[kind];
  for (auto& [fault, struck] : faults_) {
    if (!Concerns(fault, kind, key)) continue;
    if (fault.skip > 0) {
      --fault.skip;
      continue;
    }
    if (fault.times != std::numeric_limits<int>::max()) --fault.times;
    struck = true;
    return fault.kind;
  }
  return std::nullopt;
}

}  // namespace doclock::testing
