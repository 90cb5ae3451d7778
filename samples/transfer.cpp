// Two accounts and a message: stored together, or not at all.

#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "doclock/doclock.h"

struct Account {
  std::string id;
  int balance = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Account, id, balance)

struct Message {
  std::string id;
  std::string text;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Message, id, text)

class Bank {
 public:
  explicit Bank(const doclock::LockManager& manager)
      : accounts_(manager, "accounts"), outbox_(manager, "outbox") {}

  void Open(const Account& account) { accounts_.Insert(account); }

  /// False: there is not enough on the account, and nothing has changed.
  bool Transfer(const std::string& id, const std::string& from, const std::string& to, int amount) {
    const auto move = [&](Account& payer, Account& payee, doclock::Transaction& transaction) {
      if (payer.balance < amount) return false;
      payer.balance -= amount;
      payee.balance += amount;
      transaction.Insert(outbox_,
                         Message{id, std::to_string(amount) + " from " + from + " to " + to});
      return true;
    };
    return doclock::Update(accounts_.At(from), accounts_.At(to), move);
  }

  int Sum() {
    int sum = 0;
    for (const auto& account : accounts_.Find(doclock::Filter())) sum += account->balance;
    return sum;
  }
  std::size_t Messages() { return outbox_.Find(doclock::Filter()).size(); }

 private:
  doclock::LockingRepository<Account> accounts_;
  doclock::LockingRepository<Message> outbox_;
};

int main() {
  Bank bank{doclock::LockManager{doclock::OpenMemoryStore()}};
  bank.Open({"ann", 100});
  bank.Open({"bob", 100});
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&bank, client] {
      for (int i = 0; i < 25; ++i) {
        const std::string id = std::to_string(client) + "-" + std::to_string(i);
        client % 2 == 0 ? bank.Transfer(id, "ann", "bob", 1) : bank.Transfer(id, "bob", "ann", 1);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  std::cout << "sum " << bank.Sum() << ", messages " << bank.Messages() << "\n";
  return bank.Sum() == 200 && bank.Messages() == 100 ? 0 : 1;
}
