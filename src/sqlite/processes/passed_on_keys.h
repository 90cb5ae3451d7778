#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace doclock::sqlite {

/// The documents whose locks, by a notification, were passed on to this store. A hint: the next
/// attempt looks at the document without taking the write turn. Thread-safe.
class PassedOnKeys {
 public:
  /// Throws if memory runs out.
  void Add(std::uint64_t collection, std::uint64_t key_hash) {
    const std::lock_guard guard(mutex_);
    if (keys_.size() >= kMax) keys_.clear();  // those that no attempt asked for
    keys_.insert(collection ^ key_hash);
    count_ = keys_.size();
  }
  /// Removes it. False: it is not there.
  [[nodiscard]] bool Take(std::uint64_t collection, std::uint64_t key_hash) {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    const std::lock_guard guard(mutex_);
    const bool found = keys_.erase(collection ^ key_hash) > 0;
    count_ = keys_.size();
    return found;
  }

 private:
  static constexpr std::size_t kMax = 10'000;

  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::unordered_set<std::uint64_t> keys_;
};

}  // namespace doclock::sqlite
