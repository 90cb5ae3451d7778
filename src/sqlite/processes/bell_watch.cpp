#include "sqlite/processes/bell_watch.h"

#include <signal.h>

#include <string>
#include <system_error>
#include <vector>

#include "doclock/errors.h"

namespace doclock::sqlite {
namespace {

/// How soon the locks of a process that was killed are noticed.
constexpr std::chrono::milliseconds kSweepInterval{50};

/// Makes signals go to the application's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &former_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }

 private:
  sigset_t former_;
};

}  // namespace

class BellWatch::Membership final : public Subscription {
 public:
  Membership(std::shared_ptr<BellWatch> watch, Subscribers::iterator subscriber) noexcept
      : watch_(std::move(watch)), subscriber_(subscriber) {}
  ~Membership() override { watch_->Remove(subscriber_); }

 private:
  std::shared_ptr<BellWatch> watch_;
  Subscribers::iterator subscriber_;
};

BellWatch::~BellWatch() { StopThread(); }

std::unique_ptr<Subscription> BellWatch::Add(const SqliteCollection& collection, Hint hint) {
  const std::lock_guard lifecycle(lifecycle_mutex_);
  Subscribers fresh;
  fresh.push_back({collection.tag(), std::move(hint)});
  const auto subscriber = fresh.begin();
  // First: what fails from here on must not have to take the subscriber back.
  if (!thread_.joinable()) Start();
  auto membership = std::make_unique<Membership>(shared_from_this(), subscriber);
  {
    const std::lock_guard guard(mutex_);
    subscribers_.splice(subscribers_.end(), fresh);
  }
  gate_->AddWatchers(1);
  return membership;
}

void BellWatch::Remove(Subscribers::iterator subscriber) noexcept {
  if (platform::ForkGeneration() != generation_) return;  // the thread is the parent's
  const std::lock_guard lifecycle(lifecycle_mutex_);
  gate_->AddWatchers(-1);
  bool last = false;
  {
    const std::lock_guard guard(mutex_);
    subscribers_.erase(subscriber);
    last = subscribers_.empty();
  }
  if (last) StopThread();
}

void BellWatch::Start() {
  const SignalsBlocked blocked;
  stop_ = false;
  try {
    thread_ = std::thread([this, position = gate_->Position()] { Listen(position); });
  } catch (const std::system_error& error) {
    throw StoreException(Errc::kUnavailable,
                         std::string("doclock: no thread to listen with: ") + error.what());
  }
}

void BellWatch::StopThread() noexcept {
  if (!thread_.joinable()) return;
  stop_ = true;
  gate_->Nudge();
  thread_.join();
}

void BellWatch::Listen(std::uint32_t position) {
  auto next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
  std::vector<Ring> rings;
  while (!stop_) {
    gate_->Await(position, kSweepInterval);
    rings.clear();
    if (gate_->Read(position, rings)) {
      Tell(rings);
    } else {
      TellAll();
    }
    if (std::chrono::steady_clock::now() < next_sweep) continue;
    gate_->ReapDeadStores();
    next_sweep = std::chrono::steady_clock::now() + kSweepInterval;
  }
}

void BellWatch::Tell(const std::vector<Ring>& rings) {
  const std::lock_guard guard(mutex_);
  for (const Ring& ring : rings) {
    for (const Subscriber& subscriber : subscribers_) {
      if (ring.collection == kAnyCollection) {
        subscriber.hint(std::nullopt);
      } else if (ring.collection == subscriber.collection) {
        subscriber.hint(static_cast<std::size_t>(ring.key));
      }
    }
  }
}

void BellWatch::TellAll() {
  const std::lock_guard guard(mutex_);
  for (const Subscriber& subscriber : subscribers_) subscriber.hint(std::nullopt);
}

}  // namespace doclock::sqlite
