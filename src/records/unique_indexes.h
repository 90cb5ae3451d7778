#pragma once

#include <optional>
#include <string>

#include "doclock/store/record_store.h"

namespace doclock::records {

// The unique indexes of a collection. They are kept as its settings, and every record is looked at.

/// The unique index that refuses this body for this key, because another record repeats it.
std::optional<std::string> RefusingIndex(RecordStore::Transaction& transaction, const Key& key,
                                         const Body& body);

/// Makes an index exist, unless it does. @throws ConflictException if it is to be unique and is
/// not.
void AddIndex(RecordStore::Transaction& transaction, const IndexSpec& spec);

}  // namespace doclock::records
