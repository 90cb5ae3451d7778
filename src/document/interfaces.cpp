#include "doclock/lock_manager.h"
#include "doclock/observer.h"
#include "doclock/store/store.h"
#include "doclock/time.h"

// The interfaces that users and stores implement. Their destructors stand here so that each has one
// vtable, in this library, and dynamic_cast works across shared libraries.

namespace doclock {

Clock::~Clock() = default;
std::chrono::system_clock::time_point Clock::WallTime() const noexcept {
  return std::chrono::system_clock::now();
}

Runtime::~Runtime() = default;

Runtime::Event::~Event() = default;

Store::~Store() = default;

void Store::Commit(CommitOp& commit, std::chrono::milliseconds) {
  for (StoreOp* const op : commit.ops) {
    op->Fail(Errc::kRefused, "this store has no transactions");
  }
}

void Store::ReadTogether(std::span<StoreOp* const> reads, std::chrono::milliseconds) {
  for (StoreOp* const op : reads) {
    op->Fail(Errc::kRefused, "this store cannot read several documents at one moment");
  }
}

std::chrono::system_clock::time_point Store::WallTime(std::chrono::milliseconds) {
  return std::chrono::system_clock::now();
}

LockPage Store::ListLocks(Collection&, const LockQuery&, const std::string&,
                          std::chrono::milliseconds) {
  throw StoreException(Errc::kRefused, "doclock: this store cannot list locks");
}

std::vector<std::string> Store::ListCollections(std::chrono::milliseconds) {
  throw StoreException(Errc::kRefused, "doclock: this store cannot list its collections");
}

std::vector<Finding> Store::Examine(Collection*, std::chrono::milliseconds) { return {}; }

Subscription::~Subscription() = default;

Observer::~Observer() = default;

void Observer::OnGranted(const LockEvent&, std::chrono::nanoseconds, bool) {}

void Observer::OnBusy(const LockEvent&, Errc, const LockHolder&) {}

void Observer::OnRenewed(const LockEvent&) {}

void Observer::OnRenewalFailing(const LockEvent&, std::chrono::nanoseconds) {}

void Observer::OnLost(const LockEvent&) {}

void Observer::OnReleased(const LockEvent&, std::chrono::nanoseconds) {}

void Observer::OnDiscarded(const LockEvent&, std::chrono::nanoseconds) {}

void Observer::OnMissed(std::uint64_t) {}

void Observer::OnInDoubt(const LockEvent&) {}

void Observer::OnEnded(const LockEvent&) {}

void Observer::OnWaiting(const LockEvent&) {}

void Observer::OnWaitEnded(const LockEvent&) {}

}  // namespace doclock
