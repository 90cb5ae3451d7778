#pragma once

#include <atomic>

namespace doclock::postgresql {

/// How many calls of a store may wait in the server at once for rows that other transactions hold:
/// each needs a connection for as long as it waits.
struct RowTurns {
  const int most;
  std::atomic<int> taken = 0;
};

/// One of them.
class RowWait {
 public:
  /// Has no turn if `wanted` is false, or all are taken.
  RowWait(RowTurns& turns, bool wanted) noexcept
      : turns_(turns), has_turn_(wanted && ++turns.taken <= turns.most) {
    if (wanted && !has_turn_) --turns_.taken;
  }
  RowWait(const RowWait&) = delete;
  RowWait& operator=(const RowWait&) = delete;
  ~RowWait() {
    if (has_turn_) --turns_.taken;
  }
  [[nodiscard]] bool has_turn() const noexcept { return has_turn_; }

 private:
  RowTurns& turns_;
  bool has_turn_;
};

}  // namespace doclock::postgresql
