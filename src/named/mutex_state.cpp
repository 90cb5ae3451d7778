#include "named/mutex_state.h"

#include <algorithm>
#include <exception>
#include <map>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

namespace doclock::detail {
namespace {

/// The mutexes that one thread holds; releases them when the thread ends.
class HeldByThread {
 public:
  HeldByThread() = default;
  HeldByThread(const HeldByThread&) = delete;
  HeldByThread& operator=(const HeldByThread&) = delete;
  ~HeldByThread() {
    over_ = true;
    for (const auto& [address, held] : held_) {
      if (const auto state = held.state.lock()) state->OnThreadEnd(held.serial);
    }
  }

  /// Another thread's unlock and the destruction of a locked mutex leave an entry behind. Its
  /// serial number makes it harmless; it is forgotten once there are many.
  void Add(const std::shared_ptr<MutexState>& state, std::uint64_t serial) {
    if (held_.size() >= many_) Forget();
    held_.insert_or_assign(state.get(), Held{state, serial});
  }
  void Remove(const MutexState* state) noexcept { held_.erase(state); }
  [[nodiscard]] std::size_t size() const noexcept { return held_.size(); }
  /// Are the thread_local variables of this thread destroyed already?
  static bool over() noexcept { return over_; }

 private:
  struct Held {
    std::weak_ptr<MutexState> state;
    std::uint64_t serial;
  };
  static constexpr std::size_t kMany = 16;

  /// Forgets mutexes that the thread does not hold any more.
  void Forget() {
    std::erase_if(held_, [](const auto& entry) {
      const auto state = entry.second.state.lock();
      return !state || !state->HeldSince(entry.second.serial);
    });
    many_ = std::max(kMany, 2 * held_.size());
  }

  inline static thread_local bool over_ = false;
  std::map<const MutexState*, Held> held_;
  std::size_t many_ = kMany;
};

HeldByThread& OfThisThread() {
  thread_local HeldByThread held;
  return held;
}

[[noreturn]] void ThrowNotLocked() { throw std::logic_error("doclock: the mutex is not locked"); }

}  // namespace

std::size_t MutexesOfThisThread() noexcept {
  return HeldByThread::over() ? 0 : OfThisThread().size();
}

MutexState::~MutexState() { Abandon(std::move(lease_)); }

bool MutexState::Acquire(Duration wait) {
  AcquireSpec spec = spec_;
  spec.wait = wait;
  AcquireResult result = detail::Acquire(binding_->engine, std::move(spec), {});
  if (IsBusy(result.failure)) return false;
  ThrowIf(result.failure);
  std::uint64_t serial = 0;
  {
    const std::scoped_lock lock(mutex_);
    serial = ++grants_;
  }
  // May throw: then the grant is released.
  if (!HeldByThread::over()) OfThisThread().Add(shared_from_this(), serial);
  // A grant that this thread or another one lost without unlocking.
  LeasePtr former;
  {
    const std::scoped_lock lock(mutex_);
    // This thread lost it, and another thread has locked it since: that grant stays.
    if (lease_ && LeaseHeld(*lease_) && !LeaseHeld(*result.grant.lease)) return true;
    former = std::exchange(lease_, std::exchange(result.grant.lease, nullptr));
    owner_ = std::this_thread::get_id();
    depth_ = 1;
    serial_ = serial;
  }
  Abandon(std::move(former));
  return true;
}

bool MutexState::Lock(Duration wait) {
  {
    const std::scoped_lock lock(mutex_);
    if (Mine() && LeaseHeld(*lease_)) {
      if (wait != kForever) return false;
      throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                              "doclock: this thread has locked '" + name() + "' already");
    }
  }
  return Acquire(wait);
}

bool MutexState::LockAgain(Duration wait) {
  {
    const std::scoped_lock lock(mutex_);
    if (Mine()) {
      if (!LeaseHeld(*lease_)) {
        throw LockException(Errc::kLost, "doclock: the lock '" + name() + "' was lost");
      }
      ++depth_;
      return true;
    }
  }
  return Acquire(wait);
}

void MutexState::Release(const LeasePtr& lease) noexcept {
  if (!lease) return;
  try {
    if (!Write(lease, WriteKind::kRelease, Body())) return;
  } catch (...) {
    // Out of memory, or another operation on this lock: it is released in the background.
  }
  Abandon(lease);
}

void MutexState::Unlock() noexcept {
  LeasePtr lease;
  {
    const std::scoped_lock lock(mutex_);
    // Another thread may have taken it since this one lost it.
    if (!Mine()) return;
    lease = std::exchange(lease_, nullptr);
    depth_ = 0;
    if (!HeldByThread::over()) OfThisThread().Remove(this);
  }
  Release(lease);
}

void MutexState::UnlockOnce() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (!Mine() || --depth_ > 0) return;
  }
  Unlock();
}

void MutexState::OnThreadEnd(std::uint64_t serial) noexcept {
  LeasePtr lease;
  {
    const std::scoped_lock lock(mutex_);
    if (serial != serial_) return;
    lease = std::exchange(lease_, nullptr);
    depth_ = 0;
  }
  Abandon(std::move(lease));
}

const std::string& MutexState::name() const noexcept {
  return *std::get_if<std::string>(&spec_.key.value());
}

LeasePtr MutexState::Current() const {
  const std::scoped_lock lock(mutex_);
  return lease_;
}

bool MutexState::held() const noexcept {
  const LeasePtr lease = Current();
  return lease && LeaseHeld(*lease);
}

bool MutexState::held_here() const noexcept {
  const std::scoped_lock lock(mutex_);
  return Mine() && LeaseHeld(*lease_);
}

bool MutexState::HeldSince(std::uint64_t serial) const noexcept {
  const std::scoped_lock lock(mutex_);
  return lease_ != nullptr && serial == serial_;
}

std::stop_token MutexState::lost() const {
  const LeasePtr lease = Current();
  if (!lease) ThrowNotLocked();
  return LeaseLost(lease);
}

std::int64_t MutexState::fence() const {
  const LeasePtr lease = Current();
  if (!lease) ThrowNotLocked();
  return LeaseFence(*lease);
}

}  // namespace doclock::detail
