#include "document/watchers.h"

#include <mutex>
#include <utility>

namespace doclock {

class Watchers::Watch : public Subscription {
 public:
  Watch(std::shared_ptr<Watchers> watchers, std::list<Hint>::iterator hint)
      : watchers_(std::move(watchers)), hint_(hint) {}
  ~Watch() override { watchers_->Remove(hint_); }

 private:
  std::shared_ptr<Watchers> watchers_;
  std::list<Hint>::iterator hint_;
};

std::unique_ptr<Subscription> Watchers::Add(Hint hint) {
  const std::unique_lock guard(mutex_);
  hints_.push_front(std::move(hint));
  ++count_;
  return std::make_unique<Watch>(shared_from_this(), hints_.begin());
}

void Watchers::TellAll(std::optional<std::size_t> hash) {
  const std::shared_lock guard(mutex_);
  for (const Hint& hint : hints_) hint(hash);
}

void Watchers::Remove(std::list<Hint>::iterator hint) {
  const std::unique_lock guard(mutex_);
  hints_.erase(hint);
  --count_;
}

}  // namespace doclock
