#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sqlite/db/deadline.h"

namespace doclock::sqlite {

/// What is known about the process that took a lock.
enum class Liveness : std::uint8_t {
  kAlive,    ///< It holds its slot.
  kDead,     ///< It held a slot of this coordinator file and holds it no more.
  kUnknown,  ///< It had no slot, or one of another coordinator file: the lease decides.
};

/// "Something became free", as one process tells it to the others through the shared page.
struct Notification {
  std::uint64_t collection = 0;  ///< TagOf its name.
  std::uint64_t key = 0;         ///< The key's hash.
  /// The store that needs to know, because the lock was passed on to it; 0: all of them. Read
  /// leaves it in `collection`: see AddressedTo.
  std::int64_t slot = 0;
};

/// In Notification::collection as it is read: one that is for the store with this slot. Other
/// stores take it for one of a collection that they do not know.
std::uint64_t AddressedTo(std::int64_t slot, std::uint64_t collection) noexcept;

/// A collection's name in a Notification.
std::uint64_t TagOf(const std::string& collection) noexcept;
/// In Notification::collection: anything may have become free.
inline constexpr std::uint64_t kAnyCollection = ~std::uint64_t{0};

/// Coordinates the processes that use one database: a fair queue in front of SQLite's write lock, a
/// sign of life of each store, and notifications of what became free. The processes share one page
/// of the file "<database>-doclock". Thread-safe.
///
/// On an operating system without shared robust mutexes, Open returns a coordinator that never
/// makes a writer wait, knows no process's liveness, and sends no notifications.
class ProcessCoordinator {
 public:
  /// Joins the coordinator of a database, which may have been deleted; null if the database has
  /// no coordinator file yet.
  /// @throws StoreException
  static std::unique_ptr<ProcessCoordinator> Join(const std::filesystem::path& database,
                                                  Deadline deadline);
  /// Joins the coordinator of an existing database; makes its file if it is missing.
  /// @throws StoreException
  static std::unique_ptr<ProcessCoordinator> Open(const std::filesystem::path& database,
                                                  Deadline deadline);

  /// Does a coordinator have a file on this operating system?
  [[nodiscard]] static bool HasFile() noexcept;

  ProcessCoordinator() = default;
  ProcessCoordinator(const ProcessCoordinator&) = delete;
  ProcessCoordinator& operator=(const ProcessCoordinator&) = delete;
  virtual ~ProcessCoordinator() = default;

  /// Waits for this process's turn to write; false when the deadline came first. The same thread
  /// calls Leave.
  [[nodiscard]] virtual bool Enter(Deadline deadline) noexcept = 0;
  virtual void Leave() noexcept = 0;
  /// The process that has the write turn; diagnostic only.
  [[nodiscard]] virtual std::string Occupant() const = 0;

  /// The stores that have the database open, and the number that it has room for; 0 if unknown.
  struct Crowd {
    int stores = 0;
    int room = 0;
  };
  [[nodiscard]] virtual Crowd Stores() const noexcept = 0;

  /// Whether the store that began the era ever flushes (see SqliteSync); nothing if none has begun
  /// since the last time when no store had the database open. Called during the write turn, as
  /// BeganEra is.
  [[nodiscard]] virtual std::optional<bool> Flushes() const noexcept = 0;
  /// An era has begun, and is in the database on the disk; or no flush had failed before.
  virtual void BeganEra(bool flushes) noexcept = 0;

  /// A flush has failed: the log may have a hole on the disk. Recovery after a power cut ends
  /// there, whatever is flushed later.
  virtual void NoteFailedFlush() noexcept = 0;
  /// Whether one has failed since the last BeganEra.
  [[nodiscard]] virtual bool HasFailedFlush() const noexcept = 0;

  /// Names this store in the rows of its locks while it is open; 0 if other processes cannot see
  /// whether it is open.
  [[nodiscard]] virtual std::int64_t slot() const noexcept = 0;
  [[nodiscard]] virtual Liveness Look(std::int64_t slot) const noexcept = 0;

  /// Can it send notifications at all?
  [[nodiscard]] virtual bool has_notifications() const noexcept = 0;
  /// Writes notifications for the watchers of all processes. Called during the write turn. Returns
  /// whom to wake afterwards; 0 if there are no watchers.
  virtual std::uint32_t Announce(const std::vector<Notification>& notifications) noexcept = 0;
  /// Wakes the watchers after Announce, if there are any. @param whom what Announce returned
  virtual void Wake(std::uint32_t whom) noexcept = 0;
  /// Adds `count` (negative: removes) watchers of this store.
  virtual void AddWatchers(int count) noexcept = 0;
  /// Does another store have watchers?
  [[nodiscard]] virtual bool OthersWatch() const noexcept = 0;
  /// The number of notifications announced so far, modulo 2^32.
  [[nodiscard]] virtual std::uint32_t Position() const noexcept = 0;
  /// Waits until Position differs from `position`; may return early.
  virtual void Await(std::uint32_t position, std::chrono::milliseconds at_most) noexcept = 0;
  /// Appends what was announced since `position` and advances it; false when some of it is lost, or
  /// memory is out.
  virtual bool Read(std::uint32_t& position,
                    std::vector<Notification>& notifications) const noexcept = 0;
  /// Wakes every thread in Await, in all processes; one that is about to wait may miss it.
  virtual void WakeAll() noexcept = 0;
  /// Removes stores whose processes died, and announces that their locks may have become free.
  virtual void ReapDeadStores() noexcept = 0;
};

/// Whether the file is a mount of its own, apart from its directory; not where that cannot be seen.
bool IsMountedAlone(const std::filesystem::path& file);

/// @throws StoreException naming the file system if it is not a local one.
void CheckFileSystem(const std::filesystem::path& directory);

}  // namespace doclock::sqlite
