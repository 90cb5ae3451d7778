#include "service.h"

#include <boost/uuid/name_generator_sha1.hpp>
#include <chrono>
#include <iostream>
#include <thread>
#include <utility>

#include "doclock/json/bson.h"

using namespace std::chrono_literals;
using doclock::Disposition;

Service::Service(doclock::LockManager of) : manager(std::move(of)) {}

/// Stores the payment, that it was handled, and the message that tells so: all, or nothing.
void Service::Handle(const Payment& payment) const {
  if (inbox.Contains(payment.id)) return;
  if (payment.from == payment.to) throw std::invalid_argument("a payment to the payer");
  const auto pay = [&](Account& from, Account& to, Order& order,
                       doclock::Transaction& transaction) {
    const std::string result = Pay(payment, from, to, order);
    inbox.Accept(transaction, payment.id);
    outbox.Add(transaction, {.id = payment.id + ":" + result,
                             .payload = payment,
                             .order = payment.order,
                             .position = ++order.messages});
    return result;
  };
  const std::string result = doclock::Update(accounts.At(payment.from), accounts.At(payment.to),
                                             orders.At(payment.order), pay, {.within = 10s});
  std::cout << payment.id << ' ' << result << std::endl;
}

/// A line may hold any bytes, and be longer than a key.
doclock::Key Service::DeadLetter(const std::string& line) {
  return boost::uuids::name_generator_sha1(boost::uuids::ns::oid())(line);
}

void Service::Consume(const std::string& line) const {
  for (bool is_poison = false;;) {
    try {
      if (!is_poison) return Handle(nlohmann::json::parse(line).get<Payment>());
      const nlohmann::json letter{{"line", doclock::Binary{{line.begin(), line.end()}}}};
      (void)dead_letters.Lock({DeadLetter(line), letter}, {.wait = 10s});
      return;
    } catch (...) {
      switch (doclock::Classify(std::current_exception())) {
        case Disposition::kAcknowledge:
          return;
        case Disposition::kRetryNow:
          continue;
        case Disposition::kRetryLater:
          std::this_thread::sleep_for(50ms);
          continue;
        case Disposition::kDeadLetter:
          if (std::exchange(is_poison, true)) throw;
          continue;
        case Disposition::kStop:
          throw;
      }
    }
  }
}

doclock::Dispatcher Service::Dispatch() const {
  const auto send = [received = received](const doclock::OutboxMessage& message) {
    try {
      received.Insert(message.id, message.payload);
    } catch (const doclock::ConflictException&) {
      // It was sent before.
    }
  };
  return outbox.Dispatch(send);
}
