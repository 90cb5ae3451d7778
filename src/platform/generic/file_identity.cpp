#include "platform/file_identity.h"

#include <sys/stat.h>

namespace doclock::platform {

std::optional<FileIdentity> IdentityOf(const char* path) noexcept {
  struct stat status {};
  if (::stat(path, &status) != 0) return std::nullopt;
  return FileIdentity{static_cast<std::uint64_t>(status.st_dev),
                      static_cast<std::uint64_t>(status.st_ino)};
}

}  // namespace doclock::platform
