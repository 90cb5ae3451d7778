#include "document/watchers.h"

#include <string>
#include <system_error>
#include <utility>

#include "doclock/errors.h"
#include "platform/signals_blocked.h"

namespace doclock {

class Watchers::Watch : public Subscription {
 public:
  Watch(std::shared_ptr<Watchers> watchers, std::list<HintListener>::iterator listener)
      : watchers_(std::move(watchers)), listener_(listener) {}
  ~Watch() override { watchers_->Remove(listener_); }

 private:
  std::shared_ptr<Watchers> watchers_;
  std::list<HintListener>::iterator listener_;
};

std::unique_ptr<Subscription> Watchers::Add(HintListener listener) {
  const std::unique_lock guard(mutex_);
  listeners_.push_front(std::move(listener));
  ++count_;
  return std::make_unique<Watch>(shared_from_this(), listeners_.begin());
}

void Watchers::TellAll(const LockHint& hint) {
  const std::shared_lock guard(mutex_);
  for (const HintListener& listener : listeners_) listener(hint);
}

void Watchers::Remove(std::list<HintListener>::iterator listener) {
  const std::unique_lock guard(mutex_);
  listeners_.erase(listener);
  --count_;
}

class WhileWatched::Watcher final : public Subscription {
 public:
  explicit Watcher(std::unique_ptr<Subscription> watch) : watch_(std::move(watch)) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() override {
    if (!thread_) return;
    if (thread_->generation_ != platform::ForkGeneration()) {
      static_cast<void>(
          watch_.release());  // the thread is the parent's, and may have had its mutex
      return;
    }
    watch_.reset();
    thread_->Remove();
  }
  void KeepUp(std::shared_ptr<WhileWatched> thread) noexcept { thread_ = std::move(thread); }

 private:
  std::unique_ptr<Subscription> watch_;
  std::shared_ptr<WhileWatched> thread_;
};

std::unique_ptr<Subscription> WhileWatched::Keep(std::unique_ptr<Subscription> watch) {
  auto watcher = std::make_unique<Watcher>(std::move(watch));
  {
    const std::lock_guard guard(mutex_);
    if (!runs_) Start();
    ++watchers_;
    watcher->KeepUp(shared_from_this());
  }
  Changed(1);
  return watcher;
}

void WhileWatched::Remove() noexcept {
  {
    const std::lock_guard guard(mutex_);
    --watchers_;
  }
  Changed(-1);
}

void WhileWatched::Close() noexcept {
  {
    const std::lock_guard guard(mutex_);
    closed_ = true;
  }
  Changed(0);
  if (thread_.joinable()) thread_.join();
}

void WhileWatched::Start() {
  const platform::SignalsBlocked blocked;
  if (thread_.joinable()) thread_.join();  // it has ended
  try {
    thread_ = std::thread([this, listen = Listen()] {
      while (GoesOn()) listen();
    });
  } catch (const std::system_error& error) {
    throw StoreException(Errc::kUnavailable,
                         std::string("doclock: no thread to listen with: ") + error.what());
  }
  runs_ = true;
}

bool WhileWatched::IsWanted() {
  const std::lock_guard guard(mutex_);
  return watchers_ > 0 && !closed_;
}

bool WhileWatched::GoesOn() {
  const std::lock_guard guard(mutex_);
  return runs_ = watchers_ > 0 && !closed_;
}

}  // namespace doclock
