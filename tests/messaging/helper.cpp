// Hangs in the middle of a piece of work, until it is killed; prints its id before.
// FILE: sends a message of an outbox. FILE work: makes a step of a worker.

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

#include "doclock/messages.h"
#include "doclock/stores/sqlite.h"
#include "doclock/worker.h"
#include "messaging/charge.h"

namespace {

void Hang(const std::string& id) {
  std::cout << id << std::endl;
  std::this_thread::sleep_for(std::chrono::hours(1));
}

void Work(const doclock::LockManager& manager) {
  using doclock::test::Charge;
  const auto step = [](Charge& charge) {
    ++charge.steps;
    Hang(charge.id);
    return doclock::Next::Done();
  };
  doclock::Worker<Charge>(doclock::LockingRepository<Charge>(manager, "charges"), &Charge::attempts,
                          doclock::Filter(), step, {.threads = 0})
      .RunOne(std::chrono::minutes(1));
}

}  // namespace

int main(int argc, char** argv) {
  const doclock::LockManager manager(doclock::OpenSqliteStore(argv[1]));
  if (argc > 2) {
    Work(manager);
  } else {
    const auto send = [](const doclock::OutboxMessage& message) { Hang(message.id.ToString()); };
    doclock::Outbox(manager).SendNext(send, {.retry_min = {}});
  }
}
