#include "sqlite/processes/linux/coordinator_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <system_error>
#include <thread>

#include "doclock/errors.h"
#include "platform/close_on_fork.h"
#include "platform/random_bytes.h"
#include "platform/standard_numbers.h"
#include "sqlite/db/database_error.h"

namespace doclock::sqlite {
namespace {

/// A slot is a tag of the file followed by a random number. The tag tells slots of this file from
/// those of a copied database. Together they are a positive file offset.
constexpr int kRandomBits = 42;
constexpr int kTagBits = 20;
constexpr std::int64_t kRandomMask = (std::int64_t{1} << kRandomBits) - 1;
/// Below every slot.
constexpr std::int64_t kAttachByte = std::int64_t{1} << 41;

struct flock ByteLock(short type, std::int64_t byte) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

/// Returns true if the byte is locked; false with errno set, also when another process holds the
/// byte (see IsTaken).
bool TryLock(int file, short type, std::int64_t byte) noexcept {
  struct flock lock = ByteLock(type, byte);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

bool IsTaken(int error) noexcept { return error == EAGAIN || error == EACCES || error == EINTR; }

std::uint64_t Random() {
  std::uint64_t value = 0;
  platform::RandomBytes(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

/// Gives the file the owner, group and mode of the database, as far as this user may: root may
/// change all of them, the file's owner may choose among their own groups. Another user's file
/// stays as it is.
void Resemble(int file, const struct stat& database) noexcept {
  struct stat own {};
  if (::fstat(file, &own) != 0) return;
  if (own.st_uid != database.st_uid && ::fchown(file, database.st_uid, -1) != 0) errno = 0;
  if (own.st_gid != database.st_gid && ::fchown(file, -1, database.st_gid) != 0) errno = 0;
  const mode_t mode = database.st_mode & 0666;
  if ((own.st_mode & 0666) != mode && ::fchmod(file, mode) != 0) errno = 0;
}

/// The file, made if need be, unless the database is missing (null); -1 and errno.
int OpenOrMake(const std::filesystem::path& path, const struct stat* database) noexcept {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  int file = ::open(path.c_str(), kFlags);
  if (database == nullptr) return file;
  if (file < 0 && errno == ENOENT) {
    file = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, database->st_mode & 0666);
    if (file < 0 && errno == EEXIST) file = ::open(path.c_str(), kFlags);
  }
  return file;
}

/// Is it empty, being made, or made by any version of this library?
bool MayBeOurs(int file) noexcept {
  constexpr std::uint64_t kAnyVersion = (std::uint64_t{1} << 48) - 1;  // "DCLOCK"
  std::uint64_t begin = 0;
  struct stat status {};
  if (::fstat(file, &status) != 0 || ::pread(file, &begin, sizeof begin, 0) < 0) return false;
  if (begin == 0) return status.st_size <= static_cast<off_t>(sizeof(CoordinatorPage));
  return ((begin ^ CoordinatorPage::kMagic) & kAnyVersion) == 0;
}

/// Emulators of user programs may lack what frees the mutex of a process that is killed.
bool HasRobustMutexes() noexcept {
  void* list = nullptr;
  std::size_t size = 0;
  return ::syscall(SYS_get_robust_list, 0, &list, &size) == 0 || errno != ENOSYS;
}

}  // namespace

CoordinatorFile::CoordinatorFile(const std::filesystem::path& database, Deadline deadline)
    : path_(database.string() + "-doclock") {
  if (!HasRobustMutexes()) {
    throw StoreException(Errc::kRefused,
                         "doclock: this system has no robust mutexes (get_robust_list), as under "
                         "qemu-user: a process that is killed would block the others for ever. "
                         "Build doclock with DOCLOCK_PLATFORM=generic for it");
  }
  struct stat status {};
  const bool missing = ::stat(database.c_str(), &status) != 0;
  if (missing && errno != ENOENT) Throw("cannot look at the database", errno);
  try {
    Open(missing ? nullptr : &status);
    Attach(deadline);
    TakeSlot();
  } catch (...) {
    Close();
    throw;
  }
}

CoordinatorFile::~CoordinatorFile() { Close(); }

void CoordinatorFile::Open(const struct stat* database) {
  const platform::ForkPause pause;
  const platform::StandardNumbersTaken taken;
  file_ = OpenOrMake(path_, database);
  if (file_ < 0) Throw("cannot open it", errno);
  platform::CloseOnFork(file_, pause);
  if (!MayBeOurs(file_)) {
    throw StoreException(Errc::kRefused, "doclock: " + path_.string() +
                                             " is another file, where the coordinator file of the "
                                             "database would be; move it away, or rename the "
                                             "database");
  }
  if (database != nullptr) Resemble(file_, *database);
}

void CoordinatorFile::Close() noexcept {
  Unmap();
  if (file_ < 0) return;
  const platform::ForkPause pause;
  platform::KeepOnFork(file_, pause);
  ::close(file_);
}

void CoordinatorFile::Throw(const char* what, int error) const {
  const bool passing = error == ENOSPC || error == EAGAIN || error == ENOMEM || error == EMFILE;
  throw StoreException(passing ? Errc::kUnavailable : Errc::kRefused,
                       "doclock: " + path_.string() + ": " + what + ReasonOf(error));
}

void CoordinatorFile::Attach(Deadline deadline) {
  while (!TryAttach()) {
    // Another process is making the page, which takes no time, or was stopped while doing so.
    if (std::chrono::steady_clock::now() >= deadline) {
      Throw("another process does not finish opening it", EAGAIN);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool CoordinatorFile::TryAttach() {
  if (TryLock(file_, F_WRLCK, kAttachByte)) {
    Make();
    if (!TryLock(file_, F_RDLCK, kAttachByte)) Throw("cannot lock it", errno);
    return true;
  }
  if (!IsTaken(errno)) Throw("cannot lock it", errno);
  if (!TryLock(file_, F_RDLCK, kAttachByte)) return false;
  struct stat status {};
  if (::fstat(file_, &status) == 0 &&
      status.st_size >= static_cast<off_t>(sizeof(CoordinatorPage))) {
    Map();
    const bool made = page_->magic.load(std::memory_order_acquire) != 0;
    const std::string difference = page_->Difference();
    if (difference.empty()) return true;
    Unmap();
    if (made) {
      throw StoreException(Errc::kRefused,
                           "doclock: " + path_.string() +
                               ": it is open in a program with another version of doclock, another "
                               "C library or of another kind of processor (the other one has " +
                               difference + ")");
    }
  }
  // The process that was making the page died before it was done.
  TryLock(file_, F_UNLCK, kAttachByte);
  return false;
}

void CoordinatorFile::Make() {
  // Without room on the disk, writing to the mapping would be a signal instead of an error.
  if (const int error = ::posix_fallocate(file_, 0, sizeof(CoordinatorPage)); error != 0) {
    Throw("cannot make room for it", error);
  }
  Map();
  const bool known = page_->magic.load(std::memory_order_acquire) == CoordinatorPage::kMagic;
  const std::uint64_t known_id = known ? page_->file_id : 0;
  const std::uint32_t flush_failed = known ? page_->flush_failed.load() : 0;
  page_->magic.store(0);
  std::memset(static_cast<void*>(page_), 0, sizeof(CoordinatorPage));
  new (page_) CoordinatorPage;
  page_->page_size = sizeof(CoordinatorPage);
  page_->mutex_size = sizeof(pthread_mutex_t);
  page_->file_id = known_id != 0 ? known_id : Random() | 1;
  page_->flush_failed.store(flush_failed);
  page_->queue.Initialise();
  page_->main.Initialise();
  page_->magic.store(CoordinatorPage::kMagic, std::memory_order_release);
  // A power cut must not take the id: by it the slots in the database are known to be dead.
  if (known_id == 0 && ::fsync(file_) != 0) Throw("cannot flush it", errno);
}

void CoordinatorFile::Map() {
  const platform::ForkPause pause;
  void* const memory =
      ::mmap(nullptr, sizeof(CoordinatorPage), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) Throw("cannot map it", errno);
  // A mapping keeps the open file, and so its locks, as a descriptor does: a forked child gets
  // none.
  ::madvise(memory, sizeof(CoordinatorPage), MADV_DONTFORK);
  page_ = static_cast<CoordinatorPage*>(memory);
}

void CoordinatorFile::Unmap() noexcept {
  if (page_ != nullptr) ::munmap(page_, sizeof(CoordinatorPage));
  page_ = nullptr;
}

void CoordinatorFile::TakeSlot() {
  struct stat status {};
  if (::fstat(file_, &status) != 0) Throw("cannot look at it", errno);
  // The inode, too: a file copied along with its database is another coordinator file.
  const std::uint64_t mixed = (page_->file_id ^ status.st_ino) * 0x9E3779B97F4A7C15U;
  tag_ = static_cast<std::int64_t>(mixed >> (64 - kTagBits)) | 1;
  for (;;) {
    slot_ = (tag_ << kRandomBits) | (static_cast<std::int64_t>(Random() >> 1) & kRandomMask);
    if (TryLock(file_, F_WRLCK, slot_)) return;
    if (!IsTaken(errno)) Throw("cannot lock it", errno);
  }
}

bool CoordinatorFile::IsFromHere(std::int64_t slot) const noexcept {
  return slot >> kRandomBits == tag_;
}

Liveness CoordinatorFile::Look(std::int64_t slot) const noexcept {
  struct flock lock = ByteLock(F_WRLCK, slot);
  if (::fcntl(file_, F_OFD_GETLK, &lock) != 0) return Liveness::kUnknown;
  return lock.l_type == F_UNLCK ? Liveness::kDead : Liveness::kAlive;
}

}  // namespace doclock::sqlite
