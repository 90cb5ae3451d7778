#pragma once

#include <atomic>

namespace doclock::postgresql {

/// A turn to wait in the server for a row that another transaction keeps. Only some of a store's
/// calls have one at once: each of them keeps a lane (StoreTraits) for as long as it waits.
class RowWait {
 public:
  /// Has no turn if `wanted` is false, or too many others have one.
  RowWait(std::atomic<int>& turns, bool wanted) noexcept
      : turns_(turns), has_turn_(wanted && ++turns <= kMost) {
    if (wanted && !has_turn_) --turns_;
  }
  RowWait(const RowWait&) = delete;
  RowWait& operator=(const RowWait&) = delete;
  ~RowWait() {
    if (has_turn_) --turns_;
  }
  [[nodiscard]] bool has_turn() const noexcept { return has_turn_; }

 private:
  /// The other three lanes are for documents that nobody keeps: they carry batches.
  static constexpr int kMost = 8;

  std::atomic<int>& turns_;
  bool has_turn_;
};

}  // namespace doclock::postgresql
