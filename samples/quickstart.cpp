// The shortest tour: lock a document, change it, write it back and unlock in one step.

#include <chrono>
#include <future>
#include <iostream>
#include <string>

#include "doclock/doclock.h"

using namespace std::chrono_literals;

// Any type with a JSON form can be a document. A member called `id` is taken for its key.
struct OrderSaga {
  std::string id;
  std::string step;
  int attempts = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(OrderSaga, id, step, attempts)

int main() {
  // One manager per store and process. "memory:" works too; it lives and dies with the process.
  const doclock::LockManager manager{doclock::OpenStore("sqlite:orders.db")};
  const doclock::LockingRepository<OrderSaga> sagas{manager, "order_sagas"};

  // Locks the document, and makes it from the entity when there is none yet.
  sagas.Lock(OrderSaga{"42", "new"}).Release();

  auto saga = sagas.Lock("42", {.wait = 5s});  // LockException if it is still busy after 5 s
  saga->step = "paid";
  saga.Release();  // one atomic write: new state in, lock cleared
                   // leaving scope instead: unlocked, body untouched

  std::future<doclock::Locked<OrderSaga>> later = sagas.LockAsync(OrderSaga{"43", "new"});
  doclock::Locked<OrderSaga> other = later.get();
  other->step = "reserved";
  other.ReleaseAsync().get();

  // Without a lock: read, change, write if no other client was faster; otherwise try again.
  sagas.Update("42", [](OrderSaga& order) { ++order.attempts; });

  for (const auto& found : sagas.Find(doclock::Filter{}.OrderBy("step"))) {
    std::cout << found->id << " is " << found->step << ", attempts: " << found->attempts << '\n';
  }
}
