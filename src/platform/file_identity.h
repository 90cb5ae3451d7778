#pragma once

#include <cstdint>
#include <optional>

#include "doclock/export.h"

namespace doclock::platform {

/// Which file a name leads to.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// Nothing, and errno, if the file cannot be looked at. Does not ask for the file's times where the
/// system can leave them out: Linux 6.13 and later gives a file whose times were asked for a new,
/// exact time at the next write, which makes that write's fdatasync slower by half.
DOCLOCK_EXPORT std::optional<FileIdentity> IdentityOf(const char* path) noexcept;

}  // namespace doclock::platform
