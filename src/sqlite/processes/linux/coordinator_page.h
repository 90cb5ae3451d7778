#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sqlite/db/deadline.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

/// A mutex in memory that processes share. When its owner dies, the next one gets it.
class SharedMutex {
 public:
  /// Called once, by the process that makes the page.
  void Initialise();
  [[nodiscard]] bool TryLock() noexcept;
  /// Returns true if it is locked; false when the deadline came first.
  [[nodiscard]] bool Lock(Deadline deadline) noexcept;
  void Unlock() noexcept;

 private:
  [[nodiscard]] bool Taken(int code) noexcept;

  pthread_mutex_t mutex_;
};

/// What one open store publishes about itself.
struct Participant {
  std::atomic<std::int64_t> slot;
  std::atomic<std::int32_t> watchers;
};
static_assert(sizeof(Participant) == 16, "all processes share the layout");

/// A Notification that is written and read at the same time.
struct SharedNotification {
  std::atomic<std::uint64_t> collection;
  std::atomic<std::uint64_t> key;
};

/// The beginning of the file "<database>-doclock", mapped by each store that has it open. Its
/// contents are valid only while a store has the file open: the first store to open it initialises
/// it anew, so that nothing stale outlives a crash. Only `file_id` and `flush_failed` stay.
struct CoordinatorPage {
  static constexpr std::uint64_t kMagic = 0x31304b434f4c4344;  // "DCLOCK01"
  static constexpr std::uint32_t kNotifications = 256;         // a power of two
  static constexpr std::uint32_t kParticipants = 256;

  std::atomic<std::uint64_t> magic;  ///< Written last.
  std::uint32_t page_size;           ///< These two differ between 32 and 64 bits,
  std::uint32_t mutex_size;          ///< and between C libraries.
  std::uint64_t file_id;             ///< Random, made with the file: tells it from other files.

  alignas(64) SharedMutex
      queue;  ///< Held while waiting for `main`: one process waits there, the others here.
  alignas(64) SharedMutex main;        ///< Held while writing.
  std::atomic<std::uint64_t> turn;     ///< How often `main` was taken through the queue.
  std::atomic<std::int64_t> occupant;  ///< The process that has `main`.
  /// 0: none has begun since the page was made; 1: by a store that flushes; 2: by one with kOff.
  std::atomic<std::uint32_t> era;
  std::atomic<std::uint32_t> flush_failed;  ///< 1: a flush has failed since the log began.

  alignas(64) std::atomic<std::uint32_t> position;  ///< Notifications so far; a futex.
  std::atomic<std::int32_t> watchers;               ///< The watchers of all stores.
  alignas(64) std::array<SharedNotification, kNotifications> notifications;
  std::array<Participant, kParticipants> participants;

  /// Returns how a page that another program has open differs from that of this program; empty if
  /// it does not.
  [[nodiscard]] std::string Difference() const;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace doclock::sqlite
