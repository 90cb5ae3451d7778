// A program that knows the memory store only, and so needs nothing of SQLite.

#include <doclock/lock_manager.h>
#include <doclock/locking_repository.h>
#include <doclock/open_store.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

struct Order {
  std::string id;
  std::string step;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, step)

int main() {
  doclock::LockManager manager{doclock::OpenMemoryStore()};
  doclock::LockingRepository<Order> orders{manager, "orders"};
  const Order fresh{"42", "new"};
  auto order = orders.Lock({"42", fresh});
  order->step = "paid";
  order.Release();
  std::cout << "order 42: " << orders.Find("42").value()->step << '\n';
}
