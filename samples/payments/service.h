#pragma once

#include <string>

#include "doclock/messages.h"
#include "doclock/update.h"
#include "model.h"

using Accounts = doclock::LockingRepository<Account>;
using Orders = doclock::LockingRepository<Order>;
using Documents = doclock::LockingRepository<nlohmann::json>;

/// Consumes payments, and tells a receiver what became of each. Any number of processes may do so.
class Service {
 public:
  explicit Service(doclock::LockManager manager);

  /// Consumes a message as a broker delivers it: at least once, perhaps to several processes.
  void Consume(const std::string& line) const;
  /// The key of a message that cannot be handled.
  static doclock::Key DeadLetter(const std::string& line);
  /// Starts telling the receiver.
  [[nodiscard]] doclock::Dispatcher Dispatch() const;

  const doclock::LockManager manager;
  const Accounts accounts{manager, "accounts"};
  const Orders orders{manager, "orders"};
  const doclock::Inbox inbox{manager};
  const doclock::Outbox outbox{manager};
  const Documents received{manager, "received"};  ///< The receiver's, which drops duplicates.
  const Documents dead_letters{manager, "dead_letters"};

 private:
  void Handle(const Payment& payment) const;
};
