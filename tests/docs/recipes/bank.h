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
  }
  /// Moves 10 from `a` to `b`.
  void MoveTen() const { Move(transfers, accounts, {"t", "a", "b", 10}); }
  /// Moves 1 from `a` to `b` and back. Either forgets the id of "t", if that is finished.
  void MoveOthers(int number) const {
    const std::string there = "there" + std::to_string(number);
    const std::string back = "back" + std::to_string(number);
    Move(transfers, accounts, {there, "a", "b", 1});
    Move(transfers, accounts, {back, "b", "a", 1});
  }
  [[nodiscard]] std::int64_t Balance(const char* account) const {
    return accounts.Find(account).value()->balance;
  }

  doclock::LockManager manager;
  Accounts accounts;
  Transfers transfers;
};
