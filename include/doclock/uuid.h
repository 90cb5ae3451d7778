#pragma once

#include <boost/uuid/uuid.hpp>

#include "doclock/export.h"

namespace doclock {

/// The identifier type of locks and documents.
using Uuid = boost::uuids::uuid;

/// Returns a fresh random (version 4) UUID whose bits come from the operating system. Thread-safe
/// and fork-safe: a child process never repeats its parent's ids. @throws std::system_error if the
/// operating system fails to give random bytes.
DOCLOCK_EXPORT Uuid NewUuid();

}  // namespace doclock
