#pragma once

#include <string>

#include "doclock/entity_traits.h"

namespace doclock::cli {

/// Reads a lock's id from a file ("-": standard input): the id alone, as a UUID, or LockFields as
/// JSON. @throws std::invalid_argument if it holds anything else; the text repeats nothing of it
LockFields ReadLockFields(const std::string& file);

}  // namespace doclock::cli
