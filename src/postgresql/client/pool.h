#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "postgresql/client/connection.h"

namespace doclock::postgresql {

/// The connections of one store. Thread-safe. The pool outlives those that it gave out.
class Pool {
 public:
  explicit Pool(Url url) : url_(std::move(url)) {}

  /// Gives a connection back when it is destroyed.
  class Give {
   public:
    explicit Give(Pool* pool = nullptr) noexcept : pool_(pool) {}
    void operator()(Connection* connection) const noexcept { pool_->TakeBack(connection); }

   private:
    Pool* pool_;
  };
  using Lent = std::unique_ptr<Connection, Give>;

  /// An idle connection, or a new one, or the next that is given back if as many are in use as are
  /// good for the server, or no new one can be made. One more is for renewals.
  /// @throws as Connect
  Lent Take(Deadline deadline, bool renews = false);
  /// One more call may wait in the server for rows that other transactions hold, until this is
  /// destroyed; null: enough others do. Each needs a connection for as long as it waits.
  [[nodiscard]] auto TakeRowWait() noexcept {
    constexpr auto give_back = [](RowWaits* waits) { waits->release(); };
    return std::unique_ptr<RowWaits, decltype(give_back)>(row_waits_.try_acquire() ? &row_waits_
                                                                                   : nullptr);
  }
  /// Tells where the collections' tables are, once they are there. From then on the connections
  /// know the least version that they may give.
  void KnowTables(const std::string& schema);
  /// One of its own, which the pool does not count. @throws StoreException if it cannot be made;
  /// Loss, Refusal
  [[nodiscard]] std::unique_ptr<Connection> Connect(Deadline deadline);
  /// The same, to no server over which another was promoted.
  [[nodiscard]] std::unique_ptr<Connection> ConnectToNewest(Deadline deadline);
  /// Does it lead to a server over which another was promoted, as others know by now?
  [[nodiscard]] bool IsOld(const Connection& connection);
  /// Does a pooler give each transaction another session? Once there was a connection.
  [[nodiscard]] bool shares_sessions() const noexcept { return shares_sessions_; }

 private:
  using RowWaits = std::counting_semaphore<>;

  /// Servers have 100 as a rule, and take about 10 MB for each.
  static constexpr int kMostLent = 16;

  /// Waits until fewer connections are lent than may be, and counts one more. Returns whether that
  /// was before the deadline.
  bool AwaitRoom(std::unique_lock<std::mutex>& guard, Deadline deadline, int more);
  /// Limits the pool to the connections that other calls have, and waits for one of these. Returns
  /// whether one was given back before the deadline.
  bool AwaitOthers(Deadline deadline);
  void TakeBack(Connection* connection) noexcept;
  std::unique_ptr<Connection> TakeIdle();
  /// One that is idle, or new, or given back if no new one can be made.
  std::unique_ptr<Connection> TakeAny(Deadline deadline);
  /// What `get` gives, which is called again if it gives one to an old server.
  template <class Get>
  std::unique_ptr<Connection> OfNewest(Deadline deadline, const Get& get);
  /// Tells it the server's epoch, if that can be known. Returns true; false if another server was
  /// promoted over it.
  /// @throws Loss, Refusal
  bool IsOfNewest(Connection& connection, Deadline deadline);

  /// With the mutex.
  [[nodiscard]] bool HasOldFloor(const Connection& connection) const noexcept {
    return connection.has_epoch() && connection.floor() < floor_;
  }

  const Url url_;
  std::once_flag first_;
  bool shares_sessions_ = false;
  std::atomic<bool> has_connected_ = false;
  std::atomic<std::size_t> first_host_ = 0;  ///< To be tried.
  RowWaits row_waits_{kMostLent - 4};        ///< Calls that wait for no row need connections too.
  std::mutex mutex_;
  std::condition_variable given_back_;
  int lent_ = 0;  ///< Or about to be.
  int most_ = kMostLent;
  Deadline limited_until_{};  ///< If `most_` is fewer than kMostLent.
  std::string schema_;        ///< Of the tables; empty: they may not be there.
  std::int64_t floor_ = 0;    ///< The highest that a connection had.
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace doclock::postgresql
