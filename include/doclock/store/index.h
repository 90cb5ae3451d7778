#pragma once

#include <string>
#include <vector>

#include "doclock/export.h"

namespace doclock {

/// The index that Store::EnsureIndex creates; fields are named as in Filter.
struct IndexSpec {
  std::vector<std::string> fields;  ///< First those compared for equality, then the order.
  /// No two documents may have the same values. A document with a missing or null field conflicts
  /// with none. Numbers are equal by value (1 and 1.0). Equal arrays conflict, and so do equal
  /// objects; arrays without a common element do not. The store chooses whether arrays with a
  /// common element conflict, and whether a path leads into an array: MongoDB compares elements,
  /// the other stores whole arrays. So is it for numbers inside arrays and objects that differ in
  /// form only (`[1]`, `[1.0]`), and for decimals that differ in their digits only (2.5 and 2.50):
  /// SQLite compares their text.
  bool unique = false;
  bool descending = false;  ///< A hint: searches read the last field in descending order.
  /// Create the index that finds held locks, for Purge, instead of one over `fields`. Stores that
  /// need none do nothing.
  bool held_locks = false;
};

/// Returns the same index without the key. Every index of a store ends with the key, and no two
/// documents have the same, so an index over fields and the key is one over the fields that is not
/// unique; without a field it is the index of the keys, which stores have anyway or make.
/// @throws std::invalid_argument for no fields, a bad one, one that is named twice, more than 31
/// besides the key, and a key that is not the last field
DOCLOCK_EXPORT IndexSpec WithoutKey(const IndexSpec& index);

}  // namespace doclock
