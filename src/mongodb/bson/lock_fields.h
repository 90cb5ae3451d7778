#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "document/values/lock_field_names.h"

namespace doclock::mongodb {

/// The names of all fields of the lock. All other fields but the key are the body.
inline auto LockFields(const LockFieldNames& names) noexcept {
  std::array<const std::string*, std::tuple_size_v<NamedLockFields>> fields{};
  std::ranges::transform(AllLockFields(names), fields.begin(),
                         &NamedLockFields::value_type::second);
  return fields;
}

/// Adds a name to a list for messages: "_id, lockId".
inline void AddName(std::string& list, const std::string& name) {
  list += (list.empty() ? "" : ", ") + name;
}

}  // namespace doclock::mongodb
