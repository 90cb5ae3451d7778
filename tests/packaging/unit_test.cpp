// A unit test of an application that uses the installed doclock::testing.

#include <doclock/doclock.h>
#include <doclock/testing/faulty_store.h>
#include <doclock/testing/manual_clock.h>

#include <chrono>
#include <iostream>
#include <memory>

struct Order {
  std::string id;
  int step = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Order, id, step)

int main() {
  using namespace std::chrono_literals;
  auto clock = std::make_shared<doclock::testing::ManualClock>();
  auto store = doclock::OpenMemoryStore({.clock = clock});
  doclock::LockManager manager{store, {.runtime = clock->runtime()}};
  doclock::LockingRepository<Order> orders{manager, "orders"};
  auto order = orders.Lock(Order{"42"});
  clock->Advance(2h);
  if (!order.held()) return 1;
  doclock::testing::StealLock(*store, "orders", "42");
  clock->Advance(15s);
  if (!order.lost().stop_requested()) return 2;
  std::cout << "renewed for two hours, and told of the theft\n";
}
