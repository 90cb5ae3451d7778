#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "doclock/export.h"
#include "doclock/store/store.h"

namespace doclock {

/// @throws std::invalid_argument unless `name` may name a collection (see Store::Open).
DOCLOCK_EXPORT void CheckCollectionName(const std::string& name);

/// @throws std::invalid_argument naming the first field whose name is bad or used twice.
DOCLOCK_EXPORT void CheckLockFieldNames(const LockFieldNames& fields);

/// Checks a Store::Open of a collection that is open already.
/// @throws std::invalid_argument if it was opened with other field names or another ttl.
DOCLOCK_EXPORT void CheckSameCollection(const Collection& open, const LockFieldNames& fields,
                                        std::chrono::milliseconds default_ttl);

/// The fields of an index as one text: "a,b.c".
DOCLOCK_EXPORT std::string FieldList(const std::vector<std::string>& fields);

/// Store::EnsureIndex found documents that repeat the values of the index over these fields.
[[noreturn]] DOCLOCK_EXPORT void ThrowRepeatedValues(const std::vector<std::string>& fields);

}  // namespace doclock
