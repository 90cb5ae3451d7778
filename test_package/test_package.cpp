#include <doclock/lock_manager.h>
#include <doclock/lock_provider.h>
#include <doclock/open_store.h>

#include <iostream>

int main() {
  doclock::LockManager manager{doclock::OpenStore("memory:")};
  doclock::LockProvider jobs{manager, "jobs"};
  auto lease = jobs.Acquire("reports/rebuild");
  std::cout << "locked, fence " << lease.fence() << '\n';
  lease.Release();
}
