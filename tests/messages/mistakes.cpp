// Each line of main is a mistake, and its comment is a part of the sentence that the compiler says.
// check.cmake compiles this file, and compares. Each mistake has types of its own, because a
// compiler says a sentence once for each type.

#include <doclock/doclock.h>
#include <doclock/json/variant.h>
#include <doclock/worker.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <chrono>
#include <future>

struct Order {
  std::string id;
  int n = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Order, id, n)

using boost::asio::awaitable;
struct Bump {
  void operator()(Order& o) && { ++o.n; }
};
struct Once {
  awaitable<void> operator()() && { co_return; }
};
struct Show {
  void operator()(doclock::Snapshot<Order>&) && {}
};
struct Step {
  void operator()(Order& o) & { ++o.n; }
};

struct Job {
  std::string id;
  doclock::Attempts attempts = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Job, id, attempts)

/// Types whose key only the caller can know; a number is no key.
template <int kIndex>
struct Keyless {
  double id = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Keyless, id)
};
template <int kIndex>
doclock::LockingRepository<Keyless<kIndex>> Of(const doclock::LockManager& manager) {
  return {manager, "keyless"};
}

/// Types that lack one half of what a JSON macro makes. (A compiler may stop at the first half.)
struct ReadOnly {
  std::string id;
};
void from_json(const nlohmann::json& in, ReadOnly& entity) { in.at("id").get_to(entity.id); }
struct WriteOnly {
  std::string id;
};
void to_json(nlohmann::json& out, const WriteOnly& entity) { out = {{"id", entity.id}}; }

/// Alternatives of a variant that cannot be told apart.
struct Card {
  static constexpr std::string_view kTag = "card";
};
struct Voucher {
  static constexpr std::string_view kTag = "card";
};

int main() {
  using namespace std::chrono_literals;
  using doclock::Filter;
  doclock::LockManager manager{doclock::OpenMemoryStore()};
  const doclock::LockingRepository<Order> orders{manager, "orders"};
  const doclock::LockProvider locks{manager};
  const auto good = [](Order& o) { ++o.n; };
  const std::stop_token stop;
  orders.With("1", [](Order o) { ++o.n; });                                // by value or as const
  orders.With({"1", Order{"1"}}, [](const Order&) {});                     // by value or as const
  orders.Update("1", [](auto o) { ++o.n; });                               // by value or as const
  orders.UpdateAsync("1", [](const Order& o) { (void)o; });                // by value or as const
  orders.With("1", [](Order&) -> awaitable<void> { co_return; });          // f is a coroutine
  orders.Update("1", [](Order&) -> awaitable<long> { co_return 1; });      // f is a coroutine
  locks.With("1", []() -> awaitable<int> { co_return 1; });                // f is a coroutine
  orders.With("1", [](Order&) { return std::async([] { return 1L; }); });  // f is a coroutine
  orders.ForEach({}, [](auto&) -> std::future<bool> { return {}; });       // neither void nor bool
  orders.Update("1", [](Order& o) { return Order{o}; });                   // returns an object
  orders.Update("1", [](Order& o) { return std::optional(o); });           // returns an object
  orders.UpdateAsync("1", [](Order& o) { return [&o] { ++o.n; }; });       // returns an object
  orders.Update(
      "1", [](Order&) -> std::shared_ptr<std::future<void>> { return {}; });  // returns an object
  orders.Update("1", [&](Order&) {
    return orders.FindAsync("2", boost::asio::deferred);
  });                                                                        // returns an object
  orders.WithAsync("1", [](Order& o) -> awaitable<Order> { co_return o; });  // returns a new entity
  orders.WithAsync("1", [](Order&) -> awaitable<std::future<int>> {
    co_return std::future<int>();
  });  // f is a coroutine
  locks.WithAsync("1", []() -> awaitable<std::future<char>> {
    co_return std::future<char>();
  });                            // f is a coroutine
  orders.Update("1", Bump());    // the call operator of f is marked
  orders.ForEach({}, Show());    // the call operator of f is marked
  locks.WithAsync("1", Once());  // the call operator of f is marked
  locks.WithAsync("1", [](int) -> awaitable<void> { co_return; });  // f takes nothing, or the lock
  orders.With("1", Step());  // the call operator of f is marked
  const auto mutating = [n = 1](Order& o) mutable { o.n += n; };
  orders.With("1", mutating);                                   // the call operator of f is marked
  orders.Update("1", std::ref(mutating));                       // the call operator of f is marked
  orders.With("1", [](Order& o) -> const Order { return o; });  // returns a new entity
  orders.With("1", [](int) {});                                 // cannot be called with the entity
  orders.Update("1", [] {});                                    // cannot be called with the entity
  locks.With("1", [](int) {});                                  // f takes nothing, or the lock
  orders.ForEach({}, [](Order&) {});                            // cannot be called with a Snapshot
  orders.ForEach({}, [](auto&) { return 1; });                  // neither void nor bool
  orders.ForEach({}, [](auto&) { return std::true_type(); });   // neither void nor bool
  orders.ForEach({}, [](auto&) { return std::optional<bool>(); });  // neither void nor bool
  orders.ForEach({}, [](auto& s) { return &s; });                   // neither void nor bool
  orders.WithAsync("1", good);                                      // f is no coroutine
  (void)orders.Lock(42);                                            // is no key of this entity's
  (void)orders.TryLock(nullptr);                                    // is no key of this entity's
  (void)orders.Find('a');                                           // is no key of this entity's
  (void)orders.Erase(u8"a");                                        // is no key of this entity's
  (void)orders.Find(Order{"42"});                                   // takes the key, not the entity
  (void)orders.Lock("1", {.wait = 5});                              // a plain number is no length
  (void)orders.Lock("1", {.wait = 0.5});                            // a plain number is no length
  (void)orders.Lock("1", stop);                                     // comes after the options
  (void)orders.Lock("1", 5s);                                       // an option has a name
  (void)orders.TryLock({"1", Order{"1"}}, 5ms);                     // an option has a name
  (void)orders.Lock(Order{"1"}, doclock::kForever);                 // an option has a name
  (void)orders.LockNext(Filter{}, 5U);                              // an option has a name
  orders.With("1", good, 5min);                                     // an option has a name
  orders.With(Order{"1"}, good, 0.5F);                              // an option has a name
  orders.With({"1", Order{"1"}}, good, 0.5);                        // an option has a name
  (void)orders.LockAll({"1", "2"}, 5h);                             // an option has a name
  orders.LockAsync("1", std::chrono::duration<double>(1));          // an option has a name
  orders.TryLockNextAsync(Filter{}, std::chrono::duration<short>(1));  // an option has a name
  orders.WithAsync("1", good, 5L);                                     // an option has a name
  orders.LockAllAsync({"1"}, true);                                    // an option has a name
  (void)locks.Acquire("1", doclock::LockMode::kShared);                // an option has a name
  locks.With(
      "1", [] {}, 5000ULL);                                          // an option has a name
  locks.AcquireAsync("1", 5ns);                                      // an option has a name
  locks.TryAcquireAllAsync({"1"}, std::chrono::duration<float>(1));  // an option has a name
  (void)locks.TryAcquireAll({"1"}, 5us);                             // an option has a name
  (void)orders.Lock("1", Order{"1"});                                // go together, in braces
  (void)Of<7>(manager).TryLock("1", Keyless<7>(), {.wait = 5s});     // go together, in braces
  Of<8>(manager).LockAsync("1", Keyless<8>());                       // go together, in braces
  Of<9>(manager).LockAsync("1", Keyless<9>(), {.wait = 5s}, good);   // go together, in braces
  Of<10>(manager).With("1", Keyless<10>(), good);                    // go together, in braces
  Of<11>(manager).Update("1", Keyless<11>(), good);                  // go together, in braces
  Of<12>(manager).UpdateAsync("1", Keyless<12>(), good);             // go together, in braces
  Of<1>(manager).Insert(Keyless<1>());                               // does not tell its key
  Of<2>(manager).InsertAsync(Keyless<2>());                          // does not tell its key
  (void)Of<3>(manager).Lock(Keyless<3>());                           // does not tell its key
  (void)Of<4>(manager).TryLock(Keyless<4>(), {.wait = 5s});          // does not tell its key
  Of<5>(manager).LockAsync(Keyless<5>());                            // does not tell its key
  Of<6>(manager).With(Keyless<6>(), [](auto&) {});                   // does not tell its key
  (void)LockAll({.wait = 5s}, orders.At("1"), stop);                 // the options come first
  (void)LockAll({}, orders.At("1"), stop, locks.At("2"));            // the options come first
  (void)LockAll(orders.At("1"), orders.At("2"));                     // the options come first
  (void)LockAll(stop, {.wait = 5s}, locks.At("1"));                  // the options come first
  (void)TryLockAll(stop, orders.At("1"), orders.At("2"));            // the options come first
  (void)TryLockAll({}, locks.At("1"), stop);                         // the options come first
  const auto a = orders.At("1");
  const auto b = Of<14>(manager).At("2");
  using doclock::Transaction;
  Update(a, [](Order, Transaction&) {});                    // takes an entity by value
  Update(a, b, [](Order&, auto, Transaction&) {});          // takes an entity by value
  Update(a, b, a, [](auto, auto&, const auto&, auto&) {});  // takes an entity by value
  Update(
      a, b, b, b, +[](Order&, const Keyless<14>&, Keyless<14>, Keyless<14>&, Transaction&) {
      });  // takes an entity by value
  const doclock::LockingRepository<Job> jobs{manager, "jobs"};
  using doclock::Next;
  doclock::Worker(jobs, &Job::attempts, {},
                  [](Job) { return Next::Now(); });  // takes an entity by value
  doclock::Worker(jobs, &Job::attempts, {},
                  [](auto, Transaction&) { return Next::Now(); });  // takes an entity by value
  Update(a, [](Order& o, Transaction&) { return &o; });     // returns a pointer to an entity
  Update(a, b, [](Order&, auto& k, auto&) { return &k; });  // returns a pointer to an entity
  Update(orders, {"1"}, [](std::vector<Order>, auto&) {});  // with the entities and a transaction
  Update(orders, {"1"}, [](Order&, Transaction&) {});       // with the entities and a transaction
  Transaction transaction{manager};
  transaction.Insert(Order{"1"});                         // takes the repository first
  transaction.Release(doclock::Snapshot<Keyless<13>>());  // takes handles that may change
  transaction.Release(Order{"1"});                        // takes handles that may change
  transaction.Save(*orders.Find("1"));                    // takes handles that may change
  transaction.Erase("1");                                 // takes handles that may change
  const std::vector<doclock::Locked<Order>> unchanging;
  transaction.Release(unchanging);                            // takes handles that may change
  Filter{}.AtLeast("due", std::chrono::system_clock::now());  // the value has no JSON form
  Filter{}.Equal("id", doclock::ObjectId());                  // the value has no JSON form
  Filter().After("1", std::chrono::seconds(1));               // the value has no JSON form
  Filter().NotEqual("grade", 'a');                            // a character is neither
  Filter().Less("grade", u8'a');                              // a character is neither
  doclock::LockingRepository<ReadOnly>(manager, "read").Erase("1");  // this type has no JSON form
  doclock::LockingRepository<WriteOnly>(manager, "written").Erase("1");  // cannot be made from JSON
  doclock::LockingRepository<const Order>(manager, "orders").Erase("1");  // is a plain object type
  (void)nlohmann::json(std::variant<Card, Voucher>());                    // have the same kTag
  return 0;
}
