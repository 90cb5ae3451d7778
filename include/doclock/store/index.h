#pragma once

#include <string>
#include <vector>

namespace doclock {

/// An index to have (Store::EnsureIndex): fields as in Filter.
struct IndexSpec {
  std::vector<std::string> fields;  ///< First the ones compared for equality, then the order.
  /// No two documents may have the same values; one whose value of any field is missing or null
  /// repeats nothing. Numbers are equal by value (1 and 1.0). Equal arrays repeat each other, and
  /// so do equal objects; arrays without a common element do not. Whether arrays with a common
  /// element do, and whether a path leads into an array, is the store's own choice: MongoDB
  /// compares elements, the other stores whole arrays. So is it for numbers inside arrays and
  /// objects that differ in form only (`[1]`, `[1.0]`): SQLite compares their text.
  bool unique = false;
  bool descending = false;  ///< A hint: searches go through the last field downwards.
  /// Instead of one over `fields`: the one that finds held locks, for Purge. Stores that need none
  /// do nothing.
  bool held_locks = false;
};

}  // namespace doclock
