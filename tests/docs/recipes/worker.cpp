// A worker of the transfer recipe, for processes_test.cpp: stops or kills itself before a call of
// the store. Usage: worker FILE CALL SIGNAL

#include <signal.h>

#include <cstdlib>
#include <iostream>

#include "doclock/sqlite_store.h"
#include "docs/recipes/bank.h"
#include "docs/recipes/pause.h"

int main(int, char** argv) {
  const int call = std::atoi(argv[2]);
  const int signal = std::atoi(argv[3]);
  const Bank bank(
      doclock::test::PausedAt(
          doclock::OpenSqliteStore(argv[1]), call,
          [&] {
            std::cout << "stops" << std::endl;
            ::raise(signal);  // to this thread: it stops here, and not in the middle of a write
          }),
      300ms);
  try {
    bank.MoveTen();
    std::cout << "moved" << std::endl;
  } catch (const doclock::Error& e) {
    std::cout << e.what() << std::endl;
  }
}
