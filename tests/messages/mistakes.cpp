// Each line of main is a mistake, and its comment is a part of the sentence that the compiler says.
// check.cmake compiles this file, and compares. Each mistake has types of its own, because a
// compiler says a sentence once for each type.

#include <doclock/doclock.h>

#include <boost/asio/awaitable.hpp>
#include <future>

struct Order {
  std::string id;
  int n = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Order, id, n)

int main() {
  using boost::asio::awaitable;
  using doclock::Filter;
  doclock::LockManager manager{doclock::OpenMemoryStore()};
  const doclock::LockingRepository<Order> orders{manager, "orders"};
  const doclock::LockProvider locks{manager};
  const auto good = [](Order& o) { ++o.n; };
  const std::stop_token stop;
  orders.With("1", [](Order o) { ++o.n; });                                // by value or as const
  orders.With("1", Order{"1"}, [](const Order&) {});                       // by value or as const
  orders.Update("1", [](auto o) { ++o.n; });                               // by value or as const
  orders.UpdateAsync("1", [](const Order& o) { (void)o; });                // by value or as const
  orders.With("1", [](Order&) -> awaitable<void> { co_return; });          // f is a coroutine
  orders.Update("1", [](Order&) -> awaitable<long> { co_return 1; });      // f is a coroutine
  locks.With("1", []() -> awaitable<int> { co_return 1; });                // f is a coroutine
  orders.With("1", [](Order&) { return std::async([] { return 1L; }); });  // f is a coroutine
  orders.ForEach({}, [](auto&) -> std::future<bool> { return {}; });       // neither void nor bool
  orders.Update("1", [](Order& o) { return Order{o}; });                   // returns a new entity
  orders.With("1", [](Order& o) { return Order{o}; });                     // returns a new entity
  orders.With("1", [](int) {});                                // cannot be called with the entity
  orders.Update("1", [] {});                                   // cannot be called with the entity
  locks.With("1", [](int) {});                                 // f takes nothing, or the lock
  orders.ForEach({}, [](Order&) {});                           // cannot be called with a Snapshot
  orders.ForEach({}, [](auto&) { return 1; });                 // neither void nor bool
  orders.ForEach({}, [](auto&) { return std::true_type(); });  // neither void nor bool
  orders.ForEach({}, [](auto&) { return std::optional<bool>(); });  // neither void nor bool
  orders.ForEach({}, [](auto& s) { return &s; });                   // neither void nor bool
  orders.WithAsync("1", good);                                      // f is no coroutine
  (void)orders.Lock(42);                                            // is no key of this entity's
  (void)orders.TryLock(nullptr);                                    // is no key of this entity's
  (void)orders.Find('a');                                           // is no key of this entity's
  (void)orders.Erase(u8"a");                                        // is no key of this entity's
  orders.With(Order{"42"}, good);         // takes the key before the entity
  (void)orders.Lock("1", {.wait = 5});    // a plain number is no length
  (void)orders.Lock("1", {.wait = 0.5});  // a plain number is no length
  (void)orders.Lock("1", stop);           // comes after the options
  return 0;
}
