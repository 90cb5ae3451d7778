#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "doclock/doclock.h"
#include "doclock/json/lock_fields.h"

namespace doclock::samples {

/// A ticket of a help desk, with its lock.
struct Ticket {
  std::string id;
  std::string state = "open";
  std::string answer;
  LockFields lock;  ///< Not in the stored body: the store keeps the lock beside it.
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Ticket, id, state, answer)

/// What is sent to the next process. Who has it can release the lock.
struct Message {
  Ticket ticket;
};
inline void to_json(nlohmann::json& out, const Message& message) {
  out = {{"ticket", message.ticket}, {"lock", message.ticket.lock}};
}
inline void from_json(const nlohmann::json& in, Message& message) {
  message.ticket = in.at("ticket").get<Ticket>();
  message.ticket.lock = in.at("lock").get<LockFields>();
}

}  // namespace doclock::samples

template <>
struct doclock::EntityTraits<doclock::samples::Ticket>
    : doclock::DefaultEntityTraits<doclock::samples::Ticket> {
  static constexpr auto kLockFields = &doclock::samples::Ticket::lock;
};
