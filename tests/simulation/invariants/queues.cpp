#include "simulation/invariants/queues.h"

#include <algorithm>

namespace doclock::simulation {

Queues::Call Queues::Begin(int program, const std::string& lock) {
  Queue& queue = of_[{program, lock}];
  // Some of them may still be at their first attempt: their order is not known.
  const bool all_wait = any_[program] == 0 && queue.in_queue == queue.calls.size();
  waiters_.emplace(++last_, Waiter{&queue, all_wait ? queue.calls : std::set<Call>()});
  queue.calls.insert(last_);
  return last_;
}

std::size_t Queues::End(Call call) {
  const auto waiter = waiters_.find(call);
  Queue& queue = *waiter->second.queue;
  queue.calls.erase(call);
  const auto passed = std::count_if(waiter->second.before.begin(), waiter->second.before.end(),
                                    [&](Call before) { return queue.calls.contains(before); });
  waiters_.erase(waiter);
  return static_cast<std::size_t>(passed);
}

}  // namespace doclock::simulation
