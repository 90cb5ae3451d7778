// Sends the messages of an outbox: prints each id, and hangs then, until it is killed.

#include <chrono>
#include <iostream>
#include <thread>

#include "doclock/outbox.h"
#include "doclock/sqlite_store.h"

int main(int, char** argv) {
  const doclock::LockManager manager(doclock::OpenSqliteStore(argv[1]));
  const auto send = [](const doclock::OutboxMessage& message) {
    std::cout << message.id.ToString() << std::endl;
    std::this_thread::sleep_for(std::chrono::hours(1));
  };
  doclock::Outbox(manager).SendNext(send, {.retry_min = {}});
}
