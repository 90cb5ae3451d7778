#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>

#include "doclock/errors.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {
namespace {

struct FileSystem {
  std::uint32_t magic;
  const char* name;
};

/// Where locks and shared memory are known to work between the processes of one machine.
constexpr std::array kLocal = {
    FileSystem{0x0000EF53, "ext4"},     FileSystem{0x58465342, "xfs"},
    FileSystem{0x9123683E, "btrfs"},    FileSystem{0x01021994, "tmpfs"},
    FileSystem{0x794C7630, "overlay"},  FileSystem{0xF2F52010, "f2fs"},
    FileSystem{0x2FC12FC1, "zfs"},      FileSystem{0xCA451A4E, "bcachefs"},
    FileSystem{0x858458F6, "ramfs"},    FileSystem{0x3153464A, "jfs"},
    FileSystem{0x52654973, "reiserfs"}, FileSystem{0x00003434, "nilfs"},
    FileSystem{0x24051905, "ubifs"},    FileSystem{0x00004D44, "vfat"},
    FileSystem{0x2011BAB0, "exfat"},    FileSystem{0x7366746E, "ntfs3"},
    FileSystem{0x0000F15F, "ecryptfs"},
};

/// Only for the message: everything that is not in the list above is refused.
constexpr std::array kShared = {
    FileSystem{0x00006969, "NFS"},
    FileSystem{0x0000517B, "SMB"},
    FileSystem{0xFF534D42, "CIFS"},
    FileSystem{0xFE534D42, "SMB2"},
    FileSystem{0x01021997, "9p"},
    FileSystem{0x65735546, "FUSE or virtiofs"},
    FileSystem{0x00C36400, "Ceph"},
    FileSystem{0x5346414F, "AFS"},
    FileSystem{0x73757245, "Coda"},
    FileSystem{0x47504653, "GPFS"},
    FileSystem{0x0BD00BD0, "Lustre"},
    FileSystem{0x786F4256, "VirtualBox shared folder"},
    FileSystem{0xBACBACBC, "VMware shared folder"},
    FileSystem{0x01161970, "GFS2"},
    FileSystem{0x7461636F, "OCFS2"},
    FileSystem{0x19830326, "BeeGFS"},
};

template <std::size_t N>
const FileSystem* Find(const std::array<FileSystem, N>& all, std::uint32_t magic) {
  const auto* found = std::find_if(all.begin(), all.end(),
                                   [&](const FileSystem& one) { return one.magic == magic; });
  return found == all.end() ? nullptr : found;
}

std::string NameOf(std::uint32_t magic) {
  if (const FileSystem* shared = Find(kShared, magic)) return shared->name;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "unknown type 0x%08X", magic);
  return text.data();
}

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
  if (Find(kLocal, magic) != nullptr) return;
  throw StoreException(Errc::kRefused,
                       "doclock: " + directory.string() + " is on a file system (" + NameOf(magic) +
                           ") whose locks cannot be relied on; SqliteStoreOptions::local_only "
                           "says whether to insist");
}

}  // namespace doclock::sqlite
