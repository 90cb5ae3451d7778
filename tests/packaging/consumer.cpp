// A user's program, as the linker sees it: locks a document in the store that it is told of,
// and releases it.

#include <doclock/lock_manager.h>
#include <doclock/locking_repository.h>
#include <doclock/open_store.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

using namespace std::chrono_literals;

struct OrderSaga {
  std::string id;
  std::string step;
  int attempts = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(OrderSaga, id, step, attempts)

int main(int argc, char** argv) try {
  doclock::LockManager manager{doclock::OpenStore(argc > 1 ? argv[1] : "memory:")};
  doclock::LockingRepository<OrderSaga> sagas{manager, "order_sagas"};

  const OrderSaga fresh{"42", "new"};
  auto saga = sagas.Lock({"42", fresh}, {.wait = 5s});
  saga->step = "paid";
  saga->attempts += 1;
  saga.Release();

  try {
    auto nobody = sagas.Lock("nobody");
    nobody.Discard();
    std::cerr << "a document that does not exist was locked\n";
    return 1;
  } catch (const doclock::NotFoundException& e) {
    // An exception of the library is caught by its type, across the border of a shared library too.
    std::cout << "as it should be: " << e.what() << '\n';
  }
  std::cout << "locked and released, attempts: " << sagas.Find("42").value()->attempts << '\n';
  return 0;
} catch (const std::exception& e) {
  std::cerr << "failed: " << e.what() << '\n';
  return 1;
}
