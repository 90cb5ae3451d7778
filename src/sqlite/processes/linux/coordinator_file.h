#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>

#include "sqlite/db/deadline.h"
#include "sqlite/processes/linux/coordinator_page.h"

struct stat;

namespace doclock::sqlite {

/// The file "<database>-doclock": the page, and byte-range locks far behind its end. A lock on one
/// byte says that some store has the file open; each store also locks a byte of its own, its slot.
/// The operating system releases them when a process ends, however it ends. (They are locks of open
/// file descriptions: a process loses POSIX locks when it closes any descriptor of the file.)
class CoordinatorFile {
 public:
  /// Makes the file if need be, but not beside a database that is missing. @throws StoreException
  CoordinatorFile(const std::filesystem::path& database, Deadline deadline);
  CoordinatorFile(const CoordinatorFile&) = delete;
  CoordinatorFile& operator=(const CoordinatorFile&) = delete;
  ~CoordinatorFile();

  [[nodiscard]] CoordinatorPage& page() const noexcept { return *page_; }
  [[nodiscard]] std::int64_t slot() const noexcept { return slot_; }
  /// Is it a slot of this file?
  [[nodiscard]] bool IsFromHere(std::int64_t slot) const noexcept;
  /// Does a store hold it? `slot` is another store's.
  [[nodiscard]] Liveness Look(std::int64_t slot) const noexcept;
  /// Call this before touching the page: touching the page of a truncated file raises SIGBUS.
  /// False: the file was truncated; this is final, and `page` is private memory from now on.
  [[nodiscard]] bool IsWhole() noexcept;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void Open(const struct stat* database);
  void Attach(Deadline deadline);
  [[nodiscard]] bool TryAttach();
  void Make();
  void Map();
  void Unmap() noexcept;
  void Replace() noexcept;
  void TakeSlot();
  /// Slots are taken only while the page is whole.
  [[nodiscard]] bool IsAnySlotTaken() const noexcept;
  [[noreturn]] void Throw(const char* what, int error) const;
  void Close() noexcept;

  std::filesystem::path path_;
  int file_ = -1;
  std::atomic<bool> whole_{true};
  CoordinatorPage* page_ = nullptr;
  void* spare_ = nullptr;  ///< Memory that takes the place of a truncated page.
  std::mutex replacing_;
  std::int64_t tag_ = 0;
  std::int64_t slot_ = 0;
};

}  // namespace doclock::sqlite
