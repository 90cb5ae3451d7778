#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sqlite/db/deadline.h"

namespace doclock::sqlite {

/// What can be said of the process that took a lock.
enum class Liveness : std::uint8_t {
  kAlive,    ///< It has its slot.
  kDead,     ///< It had a slot here, and has it no more.
  kUnknown,  ///< It had none, or one in another file's gate: the lease decides.
};

/// "Something became free", as it goes through the gate's page to other processes.
struct Ring {
  std::uint64_t collection = 0;  ///< TagOf its name.
  std::uint64_t key = 0;         ///< The key's hash.
};

/// A collection's name in a Ring.
std::uint64_t TagOf(const std::string& collection) noexcept;
/// In Ring::collection: anything may have become free.
inline constexpr std::uint64_t kAnyCollection = ~std::uint64_t{0};

/// What the processes that use one database have in common besides it: a fair queue before
/// SQLite's write lock, a sign of life of each store, and a bell. It is the file
/// "<database>-doclock", a page of which they share. Thread-safe.
///
/// Where the operating system has no such things, Open gives a gate that lets everybody in,
/// knows nobody's life, and never rings.
class Gate {
 public:
  /// Joins the gate of a database, which may be missing by now; null: the database has none yet.
  /// @throws StoreException
  static std::unique_ptr<Gate> Join(const std::filesystem::path& database, Deadline deadline);
  /// Joins the gate of a database that exists, and makes it if need be.
  /// @throws StoreException
  static std::unique_ptr<Gate> Open(const std::filesystem::path& database, Deadline deadline);

  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  virtual ~Gate() = default;

  /// Waits for this process's turn to write; false when the deadline came first. The same thread
  /// calls Leave. @throws DatabaseError if the gate was truncated.
  [[nodiscard]] virtual bool Enter(Deadline deadline) = 0;
  virtual void Leave() noexcept = 0;
  /// Whom Enter waited for in vain, for people.
  [[nodiscard]] virtual std::string Occupant() const = 0;

  /// Do all other stores have those files open that the names lead to now? `files` looks at them
  /// (FileSet::TagAt).
  [[nodiscard]] virtual bool OthersHave(const std::function<std::uint32_t()>& files) const = 0;
  /// Says which files this store has open (FileSet::tag; 0: none any more). False, and nothing
  /// said, if another store has others open. Inside the gate, unless 0.
  [[nodiscard]] virtual bool Register(std::uint32_t files) noexcept = 0;

  /// What rows name this store by while it is open; 0: it cannot be seen whether it is.
  [[nodiscard]] virtual std::int64_t slot() const noexcept = 0;
  [[nodiscard]] virtual Liveness Look(std::int64_t slot) const noexcept = 0;

  /// Can it ring at all?
  [[nodiscard]] virtual bool has_bell() const noexcept = 0;
  /// Tells the watchers of all processes. Inside the gate.
  virtual void Announce(const std::vector<Ring>& rings) noexcept = 0;
  /// Wakes those who have something to read since the last Announce.
  virtual void Wake() noexcept = 0;
  /// Says that this store has so many more (or fewer) watchers.
  virtual void AddWatchers(int count) noexcept = 0;
  /// Does another store have watchers?
  [[nodiscard]] virtual bool OthersWatch() const noexcept = 0;
  /// Where the bell stands now.
  [[nodiscard]] virtual std::uint32_t Position() const noexcept = 0;
  /// Waits until the bell stands elsewhere; may return early.
  virtual void Await(std::uint32_t position, std::chrono::milliseconds at_most) noexcept = 0;
  /// Appends what was rung since `position` and moves it on; false when some of it is lost.
  virtual bool Read(std::uint32_t& position, std::vector<Ring>& rings) const noexcept = 0;
  /// Makes Await return in all processes, usually.
  virtual void Nudge() noexcept = 0;
  /// Rings for stores that died without a word.
  virtual void ReapDeadStores() noexcept = 0;
};

/// Names this boot of the machine; 0 where that is unknown.
std::int64_t BootNumber();

/// Is the file a mount of its own, apart from its directory? False where that cannot be seen.
bool IsMountedAlone(const std::filesystem::path& file);

/// @throws StoreException naming the file system if it is not a local one.
void CheckFileSystem(const std::filesystem::path& directory);

}  // namespace doclock::sqlite
