#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sqlite/db/connection.h"
#include "sqlite/db/database_error.h"
#include "sqlite/db/deadline.h"
#include "sqlite/db/file_set.h"
#include "sqlite/db/timed_mutex.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

/// The one connection that writes. Thread-safe: calls queue, first in this process, then among the
/// processes.
class Writer {
 public:
  Writer(std::unique_ptr<Connection> connection, ProcessCoordinator& coordinator,
         std::chrono::milliseconds busy_timeout, const FileSet& files);

  /// Calls `what` in one transaction, which has no deadline once it has begun.
  /// @throws DatabaseError, and what `what` throws.
  void Transact(Deadline deadline, const std::function<void(Connection&)>& what);

  /// Our turn to write: the queue of this process's threads, then that of the processes, and
  /// notifications afterwards.
  class Turn {
   public:
    /// @throws DatabaseError at `deadline`
    Turn(Writer& writer, Deadline deadline);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

    /// @param work_deadline of what follows
    void Begin(Deadline work_deadline);
    void Commit();
    void Announce(const std::vector<Notification>& notifications) noexcept;

   private:
    Writer& writer_;
    Deadline deadline_;
    std::uint32_t whom_ = 0;  ///< The watchers to wake.
  };

  // During a turn.

  [[nodiscard]] Connection& connection() noexcept { return *connection_; }
  /// Ends a transaction that changed nothing. Returns whether it could.
  [[nodiscard]] bool End() noexcept;
  void RollBack() noexcept;

 private:
  TimedMutex mutex_;
  std::unique_ptr<Connection> connection_;
  const FileSet& files_;
  ProcessCoordinator& coordinator_;
  std::chrono::milliseconds busy_timeout_;
};

}  // namespace doclock::sqlite
