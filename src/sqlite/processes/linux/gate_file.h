#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>

#include "sqlite/db/deadline.h"
#include "sqlite/processes/linux/gate_page.h"

struct stat;

namespace doclock::sqlite {

/// The file "<database>-doclock": the page, and byte-range locks far behind its end. One byte says
/// that somebody has the file open; each store holds another one, its slot. The operating system
/// lets go of them when a process ends, however it ends. (Locks of open file descriptions: those
/// of POSIX would be lost as soon as any descriptor of the file is closed.)
class GateFile {
 public:
  /// Makes the file if need be, but not beside a database that is missing. @throws StoreException
  GateFile(const std::filesystem::path& database, Deadline deadline);
  GateFile(const GateFile&) = delete;
  GateFile& operator=(const GateFile&) = delete;
  ~GateFile();

  [[nodiscard]] GatePage& page() const noexcept { return *page_; }
  [[nodiscard]] std::int64_t slot() const noexcept { return slot_; }
  /// Is it a slot of this file?
  [[nodiscard]] bool IsFromHere(std::int64_t slot) const noexcept;
  /// Does a store hold it? `slot` is another store's.
  [[nodiscard]] Liveness Look(std::int64_t slot) const noexcept;
  /// To be asked before the page is touched: in a file that somebody truncated that would be a
  /// signal (SIGBUS). False: it was, for good, and `page` is a page of nobody else's.
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
  GatePage* page_ = nullptr;
  void* spare_ = nullptr;  ///< Memory that takes the place of a truncated page.
  std::mutex replacing_;
  std::int64_t tag_ = 0;
  std::int64_t slot_ = 0;
};

}  // namespace doclock::sqlite
