#pragma once

#include <array>
#include <string>

#include "doclock/options.h"

namespace doclock::mongodb {

/// The names of all the fields that are the lock's: what is not among them, and not the key, is the
/// body.
inline std::array<const std::string*, 11> LockFields(const LockFieldNames& names) noexcept {
  return {&names.id,       &names.time,   &names.ttl,   &names.version, &names.born,  &names.owner,
          &names.released, &names.closed, &names.group, &names.readers, &names.intent};
}

}  // namespace doclock::mongodb
