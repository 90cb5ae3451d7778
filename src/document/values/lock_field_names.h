#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "doclock/options.h"

namespace doclock {

/// The members of LockFieldNames, by name, beside their values: the only list of all fields of the
/// lock.
using NamedLockFields = std::array<std::pair<std::string_view, const std::string*>, 14>;

/// Returns them all; they refer to `names`.
inline NamedLockFields AllLockFields(const LockFieldNames& names) noexcept {
  return {{{"id", &names.id},
           {"time", &names.time},
           {"ttl", &names.ttl},
           {"version", &names.version},
           {"born", &names.born},
           {"owner", &names.owner},
           {"released", &names.released},
           {"closed", &names.closed},
           {"group", &names.group},
           {"readers", &names.readers},
           {"fence", &names.fence},
           {"queue", &names.queue},
           {"passed", &names.passed},
           {"expected", &names.expected}}};
}

}  // namespace doclock
