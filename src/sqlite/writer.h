#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sqlite/db/connection.h"
#include "sqlite/db/database_error.h"
#include "sqlite/db/deadline.h"
#include "sqlite/db/file_set.h"
#include "sqlite/db/timed_mutex.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

inline constexpr const char* kFailedFlush = "a flush to the disk has failed";
inline constexpr const char* kAfterFailedFlush = "close all stores of the file, and open it again";

/// @throws DatabaseError (kRefused) once a flush has failed
void RequireFlushed(const ProcessCoordinator& coordinator);

/// The one connection that writes. Thread-safe: calls queue, first in this process, then among the
/// processes.
class Writer {
 public:
  Writer(std::unique_ptr<Connection> connection, ProcessCoordinator& coordinator,
         const SqliteStoreOptions& options, const FileSet& files);

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
    /// @param flush Commit returns once the changes are on the disk, with all earlier commits: they
    /// are in one log. Otherwise they outlive this process, but not a power cut.
    void Begin(Deadline work_deadline, bool flush);
    /// Whether the transaction is one without `flush` that NeedFlush can make one with it.
    [[nodiscard]] bool MayNeedFlush() const noexcept;
    /// Makes a transaction that has changed nothing one with `flush`. @throws RacedException if a
    /// program that does not know the coordinator has written meanwhile
    void NeedFlush();
    void Commit();
    void Announce(const std::vector<Notification>& notifications) noexcept;

   private:
    Writer& writer_;
    Deadline deadline_;
    Deadline work_deadline_{};
    std::uint32_t whom_ = 0;  ///< The watchers to wake.
  };

  // During a turn.

  [[nodiscard]] Connection& connection() noexcept { return *connection_; }
  /// Ends a transaction that changed nothing. Returns whether it could.
  [[nodiscard]] bool End() noexcept;
  void RollBack() noexcept;

 private:
  /// Between transactions. @throws DatabaseError
  void SetFlush(bool flush);

  TimedMutex mutex_;
  std::unique_ptr<Connection> connection_;
  const FileSet& files_;
  ProcessCoordinator& coordinator_;
  std::chrono::milliseconds busy_timeout_;
  /// Whether the connection flushes now. Nothing unless each transaction chooses: `sync` is kFull,
  /// and an era has begun.
  std::optional<bool> flushes_;
};

}  // namespace doclock::sqlite
