#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "doclock/document.h"
#include "step.h"

namespace doclock::conformance {

/// A trace of everything that stores must handle at once: odd keys and bodies, several operations
/// in one call, searches, indexes, and writes of foreign programs.
struct Trace {
  std::vector<Key> keys;  ///< What the steps' keys mean: different ones, in the store's order.
  std::vector<Step> steps;
};

void showValue(const Trace& trace, std::ostream& out);

/// What traces have to know of a store.
struct Surroundings {
  bool spoil = false;         ///< Can the fields of locks be spoilt?
  bool plant = false;         ///< Can documents be made without any?
  bool transactions = false;  ///< Does the store have them?
  /// The kinds of keys (Key::value().index()), as they come in queries without an order: numbers
  /// before texts, or behind them.
  std::vector<std::size_t> kinds_of_keys = {};
  /// Are UUIDs and ObjectIds sorted together, by their bytes?
  bool bytes_together = false;
};

rc::Gen<Trace> MixedTraces(const Surroundings& surroundings);

}  // namespace doclock::conformance
