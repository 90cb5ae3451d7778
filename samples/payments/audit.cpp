#include "audit.h"

#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>

namespace {

constexpr int kAccounts = 6, kOrders = 8, kPayments = 400;
constexpr std::int64_t kBalance = 100'000;

std::string Name(const char* kind, std::size_t number) { return kind + std::to_string(number); }

Payment Random(std::mt19937& random, int number) {
  const std::size_t from = random() % kAccounts;
  const std::size_t to = (from + 1 + random() % (kAccounts - 1)) % kAccounts;
  Payment payment{Name("payment-", static_cast<std::size_t>(number)),
                  Name("order-", random() % kOrders), Name("account-", from), Name("account-", to),
                  static_cast<std::int64_t>(1 + random() % 5000)};
  switch (random() % 12) {
    case 0:
      payment.to = "nobody";
      break;
    case 1:
      payment.amount = 1'000'000'000;  // more than there is
      break;
    case 2:
      payment.to = payment.from;
      break;
    default:
      break;
  }
  return payment;
}

bool Expect(bool good, const std::string& fault) {
  if (!good) std::cout << "FAULT: " << fault << '\n';
  return good;
}

}  // namespace

void SetUp(const Service& service, const std::string& file) {
  service.outbox.EnsureIndexes();
  service.inbox.EnsureIndexes();
  for (std::size_t i = 0; i < kAccounts; ++i)
    service.accounts.Insert(Account{Name("account-", i), kBalance});
  for (std::size_t i = 0; i < kOrders; ++i) service.orders.Insert(Order{Name("order-", i)});
  std::mt19937 random(7);
  std::ofstream out(file);
  for (int i = 0; i < kPayments; ++i) {
    const std::string line = nlohmann::json(Random(random, i)).dump();
    for (int copies = random() % 10 == 0 ? 2 : 1; copies > 0; --copies) out << line << '\n';
    if (i % 50 == 0) out << R"({"id": "broken)" << '\n';
  }
}

bool Audit(const Service& service, const std::vector<std::string>& lines) {
  bool good = true;
  std::map<std::string, std::int64_t> balances, paid;
  std::map<std::string, int> results;
  service.received.ForEach({}, [&](const doclock::Snapshot<nlohmann::json>& message) {
    const std::string key = message.key().ToString();
    const std::string result = key.substr(key.find(':') + 1);
    ++results[result];
    if (result != "paid") return;
    const auto payment = message->get<Payment>();
    balances[payment.from] -= payment.amount;
    balances[payment.to] += payment.amount;
    paid[payment.order] += payment.amount;
  });
  const std::set<std::string> messages(lines.begin(), lines.end());
  for (const std::string& line : messages) {
    if (service.dead_letters.Find(Service::DeadLetter(line))) {
      ++results["dead letters"];
    } else {
      const auto id = nlohmann::json::parse(line).get<Payment>().id;
      const bool told =
          service.received.Find(id + ":paid") || service.received.Find(id + ":rejected");
      good &= Expect(service.inbox.Contains(id) && told, id + " was not handled");
    }
  }
  std::size_t sum = 0;
  for (const auto& [result, count] : results) sum += static_cast<std::size_t>(count);
  good &= Expect(sum == messages.size(), "some messages were handled twice, or not at all");
  service.accounts.ForEach({}, [&](const doclock::Snapshot<Account>& account) {
    good &= Expect(account->balance == kBalance + balances[account->id],
                   account->id + " has a wrong balance");
  });
  service.orders.ForEach({}, [&](const doclock::Snapshot<Order>& order) {
    good &= Expect(order->paid == paid[order->id], order->id + " has a wrong sum");
  });
  const doclock::OutboxStatus left = service.outbox.Status();
  good &= Expect(left.pending + left.parked == 0, "messages are left in the outbox");
  for (const auto& [result, count] : results) std::cout << result << ' ' << count << '\n';
  std::cout << (good ? "each message took effect exactly once\n" : "audit failed\n");
  return good;
}
