#pragma once

#include <cstdint>
#include <filesystem>

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

 private:
  void Open(const struct stat* database);
  void Attach(Deadline deadline);
  [[nodiscard]] bool TryAttach();
  void Make();
  void Map();
  void Unmap() noexcept;
  void TakeSlot();
  [[noreturn]] void Throw(const char* what, int error) const;
  void Close() noexcept;

  std::filesystem::path path_;
  int file_ = -1;
  CoordinatorPage* page_ = nullptr;
  std::int64_t tag_ = 0;
  std::int64_t slot_ = 0;
};

}  // namespace doclock::sqlite
