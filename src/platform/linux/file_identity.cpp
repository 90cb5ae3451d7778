#include "platform/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace doclock::platform {

std::optional<FileIdentity> IdentityOf(const char* path) noexcept {
  struct statx status {};
  if (::statx(AT_FDCWD, path, 0, STATX_INO, &status) != 0) return std::nullopt;
  return FileIdentity{::makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino};
}

}  // namespace doclock::platform
