#include "platform/close_on_fork.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace doclock::platform {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<int> descriptors;
};

/// Never destroyed: a fork may happen while the process ends.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

/// The mutex is held across the fork, so that the child finds the list whole.
void BeforeFork() { TheRegistry().mutex.lock(); }

void AfterForkInParent() { TheRegistry().mutex.unlock(); }

void AfterForkInChild() {
  Registry& registry = TheRegistry();
  for (const int descriptor : registry.descriptors) ::close(descriptor);
  registry.descriptors.clear();
  registry.mutex.unlock();
}

}  // namespace

ForkPause::ForkPause() {
  static const int registered =
      ::pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
  static_cast<void>(registered);
  TheRegistry().mutex.lock();
}

ForkPause::~ForkPause() { TheRegistry().mutex.unlock(); }

void CloseOnFork(int descriptor, const ForkPause&) {
  TheRegistry().descriptors.push_back(descriptor);
}

void KeepOnFork(int descriptor, const ForkPause&) noexcept {
  auto& all = TheRegistry().descriptors;
  const auto found = std::find(all.begin(), all.end(), descriptor);
  if (found != all.end()) all.erase(found);
}

}  // namespace doclock::platform
