#pragma once

#include <cstdint>
#include <string>

#include "doclock/doclock.h"

// What the service is about. Money is in cents.

struct Account {
  std::string id;
  std::int64_t balance = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Account, id, balance)

struct Order {
  std::string id;
  std::int64_t paid = 0;
  std::int64_t messages = 0;  ///< Tells their order.
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, paid, messages)

/// The message that is consumed.
struct Payment {
  std::string id, order, from, to;
  std::int64_t amount = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Payment, id, order, from, to, amount)

/// Carries a payment out, or leaves all as it was. Returns what became of it.
inline std::string Pay(const Payment& payment, Account& from, Account& to, Order& order) {
  if (payment.amount <= 0 || from.balance < payment.amount) return "rejected";
  from.balance -= payment.amount;
  to.balance += payment.amount;
  order.paid += payment.amount;
  return "paid";
}
