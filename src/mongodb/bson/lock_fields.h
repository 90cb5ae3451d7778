#pragma once

#include <array>
#include <string>

#include "doclock/options.h"

namespace doclock::mongodb {

/// The names of all fields of the lock. All other fields but the key are the body.
inline std::array<const std::string*, 14> LockFields(const LockFieldNames& names) noexcept {
  return {&names.id,    &names.time,     &names.ttl,    &names.version, &names.born,
          &names.owner, &names.released, &names.closed, &names.group,   &names.readers,
          &names.fence, &names.queue,    &names.passed, &names.expected};
}

/// Adds a name to a list for messages: "_id, lockId".
inline void AddName(std::string& list, const std::string& name) {
  list += (list.empty() ? "" : ", ") + name;
}

}  // namespace doclock::mongodb
