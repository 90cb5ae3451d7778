#pragma once

#include <string>

#include "doclock/export.h"
#include "doclock/store/store.h"

namespace doclock::records {

/// Returns a hint as text for RecordStore::Tell. It has no body: a listener could not know whether
/// a store has sent the right one, and the next holder would write over what it has not seen.
DOCLOCK_EXPORT std::string HintToText(const LockHint& hint);

/// Returns the hint of such a text; LockHint{} of any other.
DOCLOCK_EXPORT LockHint HintFromText(const std::string& text);

}  // namespace doclock::records
