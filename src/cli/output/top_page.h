#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doclock/lock_status.h"

namespace doclock::cli {

/// What `top` can sort by.
inline constexpr std::array<std::string_view, 6> kTopOrders{"age",  "name", "holder",
                                                            "left", "rate", "wait"};

/// The contents of the screen of `top`: it knows locks and text, but no terminal. Not thread-safe.
class TopPage {
 public:
  TopPage(std::string collection, std::string_view order);

  /// Takes what the store shows now. Rates are those since the last call.
  void Update(std::vector<LockStatus> locks, std::chrono::steady_clock::time_point now);
  /// Shows this instead of the number of locks, until the next Update: the store did not answer.
  void Fail(std::string why) { failure_ = std::move(why); }

  /// Sorts by the next of kTopOrders.
  void NextOrder() noexcept { order_ = (order_ + 1) % kTopOrders.size(); }
  /// Shows only locks whose name or holder has this text.
  void SetFilter(std::string text) { filter_ = std::move(text); }
  [[nodiscard]] const std::string& filter() const noexcept { return filter_; }
  /// Moves by so many locks.
  void Scroll(int by) noexcept;

  /// The lines of a screen of this size, each of `columns` characters.
  [[nodiscard]] std::vector<std::string> Lines(std::size_t rows, std::size_t columns);

 private:
  struct Row {
    LockStatus lock;
    std::string holder;
    double rate = 0;  ///< Grants per second.
  };
  [[nodiscard]] std::vector<const Row*> Shown() const;
  [[nodiscard]] std::string Summary() const;

  const std::string collection_;
  std::size_t order_ = 0;
  std::string filter_, failure_;
  std::size_t first_ = 0;  ///< Of the locks that are shown.
  std::vector<Row> rows_;
  std::map<Key, std::int64_t> versions_;
  std::chrono::steady_clock::time_point updated_;
  double rate_ = 0;
};

}  // namespace doclock::cli
