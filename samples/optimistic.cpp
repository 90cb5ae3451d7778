// Writing without a lock: read a snapshot, change it, and store it if no other client was faster.
// Good if conflicts are rare and the work between reading and writing can be repeated.

#include <iostream>
#include <string>

#include "doclock/doclock.h"

struct Stock {
  std::string id;
  int pieces = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Stock, id, pieces)

int main() {
  const doclock::LockManager manager{doclock::OpenStore("memory:")};
  const doclock::LockingRepository<Stock> stocks{manager, "stocks"};
  stocks.Insert(Stock{"bolts", 100});

  // Two clerks look at the same shelf.
  auto mine = stocks.Find("bolts");
  auto theirs = stocks.Find("bolts");
  if (!mine || !theirs) return 1;

  (*theirs)->pieces -= 10;
  stocks.Save(*theirs);

  (*mine)->pieces -= 5;
  try {
    stocks.Save(*mine);  // would undo the other clerk's change
    return 1;
  } catch (const doclock::ConflictException& error) {
    std::cout << error.what() << '\n';
  }

  // Update does the whole round: reads, calls the function, saves, and begins again after a
  // conflict. The function may be called several times, so it must not have effects besides. If
  // it keeps losing, it takes the lock.
  stocks.Update("bolts", [](Stock& stock) { stock.pieces -= 5; });

  const int left = (*stocks.Find("bolts"))->pieces;
  std::cout << left << " bolts left\n";
  return left == 85 ? 0 : 1;
}
