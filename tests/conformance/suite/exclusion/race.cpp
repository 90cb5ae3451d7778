#include "race.h"

#include <exception>
#include <thread>

namespace doclock::conformance {
namespace {

/// Turns of all threads together: of a slow store, and of one whose clients hardly ever meet.
constexpr int kLeastTurns = 100, kMostTurns = 5'000;
/// So many meetings are enough, and so many too many.
constexpr int kMeetings = 200, kMostMeetings = 1'000'000;

}  // namespace

void Race::Run(const std::function<void(Client&, std::size_t)>& work) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        if (Meet()) work(clients_[i], i);
      } catch (const std::exception& error) {
        Break(std::string("a call threw: ") + error.what());
      }
    });
  }
}

bool Race::Next() noexcept {
  const int turn = turns_++;
  return !broken() &&
         (turn < kLeastTurns * times_ || (met_ < kMeetings * times_ && turn < kMostTurns * times_));
}

void Race::Met() {
  if (++met_ == kMostMeetings) Break("clients only meet each other");
  std::this_thread::yield();
}

bool Race::Meet() noexcept {
  const std::size_t round = arrived_++ / clients_.size();
  const std::size_t all = (round + 1) * clients_.size();
  while (arrived_ < all && !broken()) std::this_thread::yield();
  return !broken();
}

void Race::Break(const std::string& what) {
  const std::lock_guard guard(mutex_);
  if (!broken_.exchange(true)) fault_ = what;
}

void Race::Expect(const char* what, const StoreOp& op, OpStatus status) {
  if (op.status == status) return;
  Break(std::string(what) + " is " + ::testing::PrintToString(op.status) + ", not " +
        ::testing::PrintToString(status) + (op.detail ? ": " + op.detail->message : ""));
}

void Race::ExpectEqual(const char* what, std::int64_t found, std::int64_t expected) {
  if (found == expected) return;
  Break(std::string(what) + ": " + std::to_string(found) + ", not " + std::to_string(expected));
}

void Holders::Enter(LockMode mode) {
  const std::lock_guard guard(mutex_);
  ++(mode == LockMode::kShared ? shares_ : writers_);
  if (writers_ + (shares_ > 0 ? 1 : 0) <= 1 && shares_ <= most_) return;
  race_.Break("a lock has " + std::to_string(writers_) + " holders and " + std::to_string(shares_) +
              " shares");
}

void Holders::Leave(LockMode mode) {
  const std::lock_guard guard(mutex_);
  --(mode == LockMode::kShared ? shares_ : writers_);
}

}  // namespace doclock::conformance
