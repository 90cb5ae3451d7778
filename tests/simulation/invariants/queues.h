#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace doclock::simulation {

/// The callers of one program that wait for a lock, as far as it can be seen from outside that they
/// stand in its queue. Calls and events of one program come in the order in which they happened.
class Queues {
 public:
  using Call = std::uint64_t;

  /// A call begins that may wait for this lock.
  Call Begin(int program, const std::string& lock);
  /// It is over. Returns how many callers that stood in the queue before it still wait: if it was
  /// granted, it has passed them.
  std::size_t End(Call call);

  /// A call begins, or ends, that may wait for a lock of any name.
  void BeginAny(int program) { ++any_[program]; }
  void EndAny(int program) { --any_[program]; }

  // Observer::OnWaiting and OnWaitEnded.
  void OnWaiting(int program, const std::string& lock) { ++of_[{program, lock}].in_queue; }
  void OnWaitEnded(int program, const std::string& lock) { --of_[{program, lock}].in_queue; }

 private:
  struct Queue {
    std::set<Call> calls;      ///< Those that are not over.
    std::size_t in_queue = 0;  ///< How many of them are known to be in the queue.
  };
  struct Waiter {
    Queue* queue;
    std::set<Call> before;  ///< Those that stood in the queue when it began.
  };

  std::map<std::pair<int, std::string>, Queue> of_;
  std::map<int, int> any_;
  std::map<Call, Waiter> waiters_;
  Call last_ = 0;
};

}  // namespace doclock::simulation
