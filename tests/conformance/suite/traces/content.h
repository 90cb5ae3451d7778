#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "doclock/filter.h"
#include "step.h"

namespace doclock::conformance {

// What steps write, and what they search for: the same for players and model.

using Json = nlohmann::json;

/// A value of the field "tag", which may have a unique index, and what it repeats by the contract.
struct Tag {
  Json value;
  int sameness;  ///< Values of one sameness repeat each other; those of 0 repeat nothing.
};

/// The tag of a body; one that is null: it has none.
const Tag& TagOf(const Json& body);

/// The shape with these places in the tables of "due" and "tag", which begin anew at their ends.
int ShapeOf(std::size_t due, std::size_t tag);

/// The body that a step writes. Of shape 0 it is {"value": number}, of shape 1 it is {}; others
/// have "due", by which searches go, and "tag" too.
Json ContentOf(const Step& step);

/// One condition at most, and an order.
struct Search {
  struct Condition {
    std::string field;
    Filter::Op op;
    Json value;
  };
  std::optional<Condition> condition = std::nullopt;
  std::string order = {};
  bool descending = false;
  Filter::LockState state = Filter::LockState::kAny;
};

/// What a step searches for.
Search SearchOf(const Step& step);

/// The same as a store is asked.
Filter FilterOf(const Search& search);

}  // namespace doclock::conformance
