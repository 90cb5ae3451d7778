#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "doclock/entity_traits.h"

namespace doclock::simulation {

/// A document that says which write made it, and which write that one had seen.
struct Entry {
  std::string id;
  std::string write = {};
  std::string after = {};
  std::int64_t seat = 0;    ///< No other document has it; 0: none.
  std::int64_t amount = 0;  ///< All documents together have 0.
  LockFields lock = {};

  /// Its next write.
  void Continue(const std::string& next) {
    after = write;
    write = next;
  }
  /// That write was not done.
  void GoBackTo(const Entry& before) {
    write = before.write;
    after = before.after;
    seat = before.seat;
    amount = before.amount;
  }
};
// NOLINTNEXTLINE(readability-identifier-naming): nlohmann's name
inline void to_json(nlohmann::json& out, const Entry& entry) {
  out = {
      {"id", entry.id}, {"write", entry.write}, {"after", entry.after}, {"amount", entry.amount}};
  out["seat"] = entry.seat == 0 ? nlohmann::json() : nlohmann::json(entry.seat);
}
// NOLINTNEXTLINE(readability-identifier-naming)
inline void from_json(const nlohmann::json& in, Entry& entry) {
  in.at("id").get_to(entry.id);
  in.at("write").get_to(entry.write);
  in.at("after").get_to(entry.after);
  in.at("amount").get_to(entry.amount);
  entry.seat = in.at("seat").is_null() ? 0 : in.at("seat").get<std::int64_t>();
}

}  // namespace doclock::simulation

template <>
struct doclock::EntityTraits<doclock::simulation::Entry>
    : doclock::DefaultEntityTraits<doclock::simulation::Entry> {
  static constexpr auto kLockFields = &doclock::simulation::Entry::lock;
};
