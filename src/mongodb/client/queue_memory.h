#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "doclock/uuid.h"
#include "mongodb/protocol/lock_events.h"

namespace doclock::mongodb {

/// What a store instance remembers of the queues it has met. It chooses the statement that is
/// likely to match; a wrong guess costs a command, never more. Thread-safe.
class QueueMemory {
 public:
  /// Waiters were met at the document of this hash, or one of this store began to wait there.
  void Met(std::size_t hash) noexcept;
  /// Are there waiters at this document, probably?
  [[nodiscard]] bool Knows(std::size_t hash) const noexcept;

  /// The document as a waiter met it when it last placed its entry. A grant from the queue comes
  /// later: it raises the version.
  struct MetDocument {
    Uuid lock_id{};
    Uuid born{};
    std::int64_t version = 0;
  };
  /// Out of memory nothing is noted.
  void NoteEntry(const MetDocument& met) noexcept;
  /// What was noted last of the waiter's entry; nothing if that was forgotten.
  std::optional<MetDocument> LastMet(const Uuid& lock_id) noexcept;

  /// @throws std::bad_alloc
  void NoteGrant(ToldGrant grant);
  /// What was told of the grant under this id, once; nothing if nothing was.
  std::optional<ToldGrant> TakeGrant(const Uuid& lock_id) noexcept;

 private:
  static constexpr std::size_t kSlots = 1024;

  /// Seconds of the steady clock, plus one; documents with a slot in common are taken for one.
  std::array<std::atomic<std::uint32_t>, kSlots> met_{};
  std::mutex mutex_;
  std::vector<ToldGrant> grants_;     ///< The latest last.
  std::vector<MetDocument> entries_;  ///< Likewise.
};

}  // namespace doclock::mongodb
