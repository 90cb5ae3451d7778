#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>

#include "doclock/errors.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {
namespace {

/// Where locks and shared memory are known to work between the processes of one machine.
constexpr std::uint32_t kLocal[] = {
    0x0000EF53,  // ext4
    0x58465342,  // xfs
    0x9123683E,  // btrfs
    0x01021994,  // tmpfs
    0x794C7630,  // overlay
    0xF2F52010,  // f2fs
    0x2FC12FC1,  // zfs
    0xCA451A4E,  // bcachefs
    0x858458F6,  // ramfs
    0x3153464A,  // jfs
    0x52654973,  // reiserfs
    0x00003434,  // nilfs
    0x24051905,  // ubifs
    0x00004D44,  // vfat
    0x2011BAB0,  // exfat
    0x7366746E,  // ntfs3
    0x0000F15F,  // ecryptfs
};

/// Nothing from kernels before Linux 5.8.
std::optional<std::uint64_t> MountOf(const std::filesystem::path& path) {
#ifdef STATX_MNT_ID
  struct statx status {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID, &status) == 0 &&
      (status.stx_mask & STATX_MNT_ID) != 0) {
    return status.stx_mnt_id;
  }
#endif
  static_cast<void>(path);
  return std::nullopt;
}

}  // namespace

bool IsMountedAlone(const std::filesystem::path& file) {
  const auto own = MountOf(file), directory = MountOf(file.parent_path());
  return own && directory && *own != *directory;
}

void CheckFileSystem(const std::filesystem::path& directory) {
  struct statfs status {};
  if (::statfs(directory.c_str(), &status) != 0) {
    throw StoreException(Errc::kRefused, "doclock: cannot look at " + directory.string() + ": " +
                                             std::generic_category().message(errno));
  }
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  if (std::ranges::find(kLocal, magic) != std::end(kLocal)) return;
  std::ostringstream type;
  type << std::hex << magic;
  throw StoreException(Errc::kRefused,
                       "doclock: " + directory.string() + " is on a file system (type 0x" +
                           type.str() +
                           ") whose locks cannot be relied on; SqliteStoreOptions::local_only "
                           "says whether to insist");
}

}  // namespace doclock::sqlite
