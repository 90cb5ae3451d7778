#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "../store_conformance.h"

namespace doclock::conformance {

/// A thread for each client, and the first thing that they find wrong. It ends by counts: a slow
/// store or machine makes it longer, and shows no less.
class Race {
 public:
  explicit Race(std::vector<Client>& clients)
      : clients_(clients), times_(clients.front().traits().immediate ? 20 : 1) {}

  /// Runs `work` with each client and its place, in a thread each, until all have returned.
  void Run(const std::function<void(Client& client, std::size_t place)>& work);

  /// Begins one more turn of one thread. False: there were enough, or something is wrong. There are
  /// enough when clients have often met each other.
  [[nodiscard]] bool Next() noexcept;
  /// Another client was in the way. Breaks it if that does not end.
  void Met();

  /// Waits for all threads to come here. False: something is wrong, and they may not come.
  bool Meet() noexcept;

  /// Something is wrong. The first time counts.
  void Break(const std::string& what);
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  /// Breaks it unless an operation has ended so.
  void Expect(const char* what, const StoreOp& op, OpStatus status);
  void ExpectEqual(const char* what, std::int64_t found, std::int64_t expected);

  /// What is wrong; empty: nothing.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
  /// How often all of them try something once.
  [[nodiscard]] int rounds() const noexcept { return 50 * times_; }

 private:
  std::vector<Client>& clients_;
  const int times_;  ///< As many turns: two clients meet less often inside a call that is short.
  std::atomic<int> turns_ = 0, met_ = 0;
  std::atomic<std::size_t> arrived_ = 0;
  std::atomic<bool> broken_ = false;
  std::mutex mutex_;
  std::string fault_;
};

/// The holders of one lock, as its clients know of them.
class Holders {
 public:
  explicit Holders(Race& race, int most = 1) : race_(race), most_(most) {}
  /// After the reply that grants the lock.
  void Enter(LockMode mode = LockMode::kExclusive);
  /// Before the request that releases it.
  void Leave(LockMode mode = LockMode::kExclusive);

 private:
  Race& race_;
  const int most_;  ///< Shares.
  std::mutex mutex_;
  int writers_ = 0, shares_ = 0;
};

}  // namespace doclock::conformance
