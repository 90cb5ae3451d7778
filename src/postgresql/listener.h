#pragma once

#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "postgresql/pool.h"
#include "postgresql/postgresql_collection.h"

namespace doclock::postgresql {

/// What a store tells the others of a lock that became free, or was granted from the queue.
struct Hint {
  std::size_t hash = 0;       ///< Of the key.
  std::int64_t instance = 0;  ///< The store whose waiter was granted it; 0: it became free.
  std::string row = {};       ///< Of a grant: where its row stands (ctid).

  [[nodiscard]] std::string ToText() const {
    return std::to_string(hash) + ' ' + std::to_string(instance) + ' ' + row;
  }
  /// Nothing if it is no hint.
  static std::optional<Hint> FromText(std::string_view text) {
    Hint hint;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, hint.hash);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
    const auto second = std::from_chars(first.ptr + 1, end, hint.instance);
    if (second.ec != std::errc() || second.ptr == end || *second.ptr != ' ') return std::nullopt;
    hint.row.assign(second.ptr + 1, end);
    return hint;
  }
};

/// Hears the hints of other stores, on a thread and a connection of its own.
class Listener {
 public:
  /// @param instance of this store: hints for others are passed over. `pool` outlives this.
  Listener(Pool& pool, std::int64_t instance);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  /// Hears those of this collection too, from soon on, and tells other stores to send them while it
  /// has watchers. Called for each new watcher. Thread-safe.
  void Add(std::shared_ptr<PostgresqlCollection> collection);

 private:
  void Run();
  /// Until the connection is lost, or this ends.
  void Listen();
  /// Listens to collections that were added behind those of `asked`, and asks for hints of those
  /// that have watchers now, as `asked` says then. Asks the server whether it is there, if `ask`.
  void Update(Connection& connection, std::vector<bool>& asked, bool ask);
  /// Waits for the connection, or for Wake; for the latter alone if there is no connection. False:
  /// nothing came.
  bool Wait(int socket, int milliseconds) const;
  void Wake() const noexcept;
  void Hear(Connection& connection, const Connection::Notification& notification);
  std::vector<std::shared_ptr<PostgresqlCollection>> Collections();

  Pool& pool_;
  const std::int64_t instance_;
  std::atomic<bool> stop_ = false;
  int wake_[2] = {-1, -1};  ///< A pipe.
  std::mutex mutex_;
  std::vector<std::shared_ptr<PostgresqlCollection>> collections_;
  std::thread thread_;
};

}  // namespace doclock::postgresql
