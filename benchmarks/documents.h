#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "doclock/body.h"

namespace doclock::bench {

/// A document as users have them: a few short fields, a list, and text up to `bytes` in all.
inline nlohmann::json SampleTree(int n, std::size_t bytes = 1024) {
  nlohmann::json tree = {{"step", "reserved"},
                         {"attempts", n},
                         {"due", 1'700'000'000 + n},
                         {"customer", {{"name", "Ada"}, {"city", "London"}}},
                         {"lines", {{{"sku", "A-1"}, {"qty", 2}}, {{"sku", "B-2"}, {"qty", 1}}}}};
  const std::size_t used = tree.dump().size() + sizeof R"(,"note":"")";
  tree["note"] = std::string(bytes > used ? bytes - used : 1, 'x');
  return tree;
}

/// The same as a store gives it: text.
inline Body SampleText(int n, std::size_t bytes = 1024) {
  return Body::FromText(SampleTree(n, bytes).dump());
}

/// A typical entity.
struct Saga {
  std::string step;
  int attempts = 0;
  std::int64_t due = 0;
  nlohmann::json customer;
  nlohmann::json lines;
  std::string note;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Saga, step, attempts, due, customer, lines, note)

inline Saga SampleSaga(int n) { return SampleTree(n).get<Saga>(); }

/// A small entity.
struct Small {
  std::string step;
  int attempts = 0;
  std::int64_t due = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Small, step, attempts, due)

}  // namespace doclock::bench
