#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/watchers.h"
#include "postgresql/client/pool.h"
#include "postgresql/tables/postgresql_collection.h"

namespace doclock::postgresql {

/// What a store tells the others of a lock that became free, or was granted from the queue.
struct Hint {
  std::size_t hash = 0;       ///< The key's hash.
  std::int64_t instance = 0;  ///< The store whose waiter was granted it; 0: it became free.

  [[nodiscard]] std::string ToText() const {
    return std::to_string(hash) + ' ' + std::to_string(instance);
  }
  /// Nothing if it is no hint.
  static std::optional<Hint> FromText(std::string_view text) {
    Hint hint;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, hint.hash);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, hint.instance);
    if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
    return hint;
  }
};

/// A pipe that wakes a thread which waits for a connection too.
class WakePipe {
 public:
  WakePipe();  ///< @throws StoreException
  WakePipe(const WakePipe&) = delete;
  WakePipe& operator=(const WakePipe&) = delete;
  ~WakePipe();

  void Wake() const noexcept;
  /// Waits for Wake, or for the socket; for the former alone if there is none (-1). Returns true;
  /// false if neither came.
  bool Wait(int socket, int milliseconds) const;

 private:
  int ends_[2] = {-1, -1};
};

/// Hears the hints of other stores while anything is watched, over a connection of its own. The
/// pool outlives its thread.
class Listener final : public WhileWatched {
 public:
  /// @param instance of this store: hints for others are passed over
  Listener(Pool& pool, std::int64_t instance) : pool_(pool), instance_(instance) {}

  /// Hears those of this collection too, from soon on, and tells other stores to send them while it
  /// has watchers. Thread-safe. @throws StoreException
  std::unique_ptr<Subscription> Watch(const std::shared_ptr<PostgresqlCollection>& collection,
                                      HintListener listener);

 private:
  std::function<void()> Listen() override;
  void Changed(int) noexcept override { pipe_.Wake(); }
  /// Until the connection is lost, or this ends.
  void Run();
  /// Listens to collections that were added behind those of `asked`, and asks for hints of those
  /// that have watchers now, as `asked` says then. Asks the server whether it is there, if `ask`.
  void Update(Connection& connection, std::vector<bool>& asked, bool ask);
  void Hear(const Connection::Notification& notification);
  std::vector<std::shared_ptr<PostgresqlCollection>> Collections();

  Pool& pool_;
  const std::int64_t instance_;
  const WakePipe pipe_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<PostgresqlCollection>> collections_;
};

}  // namespace doclock::postgresql
