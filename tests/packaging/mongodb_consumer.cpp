// A program that needs the MongoDB store and no other: opens what it is told of, locks and
// releases. Without an argument, and without a server, it shows that the store is there.

#include <doclock/lock_manager.h>
#include <doclock/locking_repository.h>
#include <doclock/stores/mongodb.h>

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

struct Job {
  std::string id;
  int runs = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Job, id, runs)

int RefusesABadOption() {
  try {
    doclock::OpenMongodbStore("mongodb://localhost/shop?tlsInsecure=true");
  } catch (const std::invalid_argument& e) {
    std::cout << "as it should be: " << e.what() << '\n';
    return 0;
  }
  std::cerr << "a bad option was accepted\n";
  return 1;
}

int main(int argc, char** argv) try {
  if (argc < 2) return RefusesABadOption();
  doclock::LockManager manager{doclock::OpenMongodbStore(argv[1])};
  doclock::LockingRepository<Job> jobs{manager, "jobs"};
  const Job fresh{"42"};
  auto job = jobs.Lock({"42", fresh});
  job->runs += 1;
  job.Release();
  std::cout << "locked and released on MongoDB, runs: " << jobs.Find("42").value()->runs << '\n';
  return 0;
} catch (const std::exception& e) {
  std::cerr << "failed: " << e.what() << '\n';
  return 1;
}
