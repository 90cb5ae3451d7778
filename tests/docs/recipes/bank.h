#pragma once

#include <string>

#include "docs_how_to_message_consumers_transfer.cpp"

/// The accounts `a` and `b`, and one worker's transfers between them.
struct Bank {
  explicit Bank(std::shared_ptr<doclock::Store> store, doclock::Duration ttl = 30s)
      : manager(std::move(store)),
        accounts(manager, "accounts", {.ttl = ttl}),
        transfers(manager, "transfers", {.ttl = ttl}) {}

  void Open() const {
    for (const char* id : {"a", "b"}) accounts.Insert(Account{id, 100});
    transfers.Insert(Transfer{"t", "a", "b", 10});
  }
  /// Moves 1 from `a` to `b` and back. Either forgets the id of "t", if that is finished.
  void MoveOthers(int number) const {
    const std::string there = "there" + std::to_string(number);
    const std::string back = "back" + std::to_string(number);
    transfers.Insert(Transfer{there, "a", "b", 1});
    transfers.Insert(Transfer{back, "b", "a", 1});
    Move(transfers, accounts, there);
    Move(transfers, accounts, back);
  }
  [[nodiscard]] std::int64_t Balance(const char* account) const {
    return accounts.Find(account).value()->balance;
  }

  doclock::LockManager manager;
  Accounts accounts;
  Transfers transfers;
};
