#include "document/watchers.h"

#include <mutex>
#include <utility>

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

}  // namespace doclock
