// A program that knows the memory store only, and so needs nothing of SQLite.

#include <doclock/lock_manager.h>
#include <doclock/lock_provider.h>
#include <doclock/memory_store.h>

#include <iostream>

int main() {
  doclock::LockManager manager{doclock::OpenMemoryStore()};
  doclock::LockProvider jobs{manager, "jobs"};
  auto lease = jobs.Acquire("reports/rebuild");
  std::cout << "fence " << lease.fence() << '\n';
  lease.Release();
}
