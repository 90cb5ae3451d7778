#include "simulation/world.h"

#include <algorithm>
#include <utility>

namespace doclock::simulation {
namespace {

/// More events than this in one seed: something goes round and round.
constexpr std::uint64_t kMostEvents = 1'000'000;

}  // namespace

void World::At(Time when, Task task) {
  queue_.push_back({std::max(when, now_), planned_++, std::move(task)});
  std::push_heap(queue_.begin(), queue_.end(), Later());
}

void World::PlayOne() {
  std::pop_heap(queue_.begin(), queue_.end(), Later());
  const Event event = std::move(queue_.back());
  queue_.pop_back();
  now_ = event.when;
  ++events_;
  event.task();
}

bool World::PlayUntil(Time end) {
  while (!queue_.empty() && queue_.front().when < end) {
    if (events_ > kMostEvents) return false;
    PlayOne();
  }
  now_ = std::max(now_, end);
  return true;
}

bool World::PlayToTheEnd() {
  while (!queue_.empty()) {
    if (events_ > kMostEvents) return false;
    PlayOne();
  }
  return true;
}

}  // namespace doclock::simulation
