#pragma once

#include <optional>
#include <string>

#include "doclock/store/record_store.h"

namespace doclock::records {

// The unique indexes of a collection. They are kept as its settings, and every check scans the
// records.

/// The unique index that refuses this body for this key, because another record has the same
/// values.
std::optional<std::string> RefusingIndex(RecordStore::Transaction& transaction, const Key& key,
                                         const Body& body);

/// Creates an index unless it exists. @throws ConflictException if it must be unique and is not.
void AddIndex(RecordStore::Transaction& transaction, const IndexSpec& spec);

}  // namespace doclock::records
