#include "postgresql/client/pool.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

namespace doclock::postgresql {
namespace {

/// A pool for which no more connections could be made tries again after this.
constexpr std::chrono::seconds kLimited{1};
/// For this long a call waits until the session of its joined work is this library's again.
constexpr std::chrono::seconds kRenewal{2};
/// Beside those: calls that wait for the rows of other programs keep no lease from being renewed.
constexpr int kMoreForRenewals = 1;

}  // namespace

std::unique_ptr<Connection> Pool::Connect(Deadline deadline) {
  std::unique_ptr<Connection> connection;
  try {
    connection = std::make_unique<Connection>(url_, deadline, first_host_);
  } catch (const Loss& loss) {
    const bool refused = loss.for_good && !(loss.may_pass && has_connected_);
    throw StoreException(refused ? Errc::kRefused : Errc::kUnavailable,
                         "doclock: PostgreSQL: " + loss.text);
  }
  std::call_once(first_, [&] { shares_sessions_ = !connection->KeepsItsSession(url_, deadline); });
  if (shares_sessions_) connection->ShareSessions();
  connection->SetUp(deadline);
  has_connected_ = true;
  return connection;
}

Pool::Lent Pool::Take(Deadline deadline, bool renews) {
  {
    std::unique_lock guard(mutex_);
    if (!AwaitRoom(guard, deadline, renews ? kMoreForRenewals : 0)) {
      throw Loss("all connections stayed in use for too long");
    }
  }
  Lent lent(nullptr, Give(this));
  try {
    lent.reset(OfNewest(deadline, [&] { return TakeAny(deadline); }).release());
  } catch (...) {
    TakeBack(nullptr);
    throw;
  }
  return lent;
}

std::unique_ptr<Connection> Pool::ConnectToNewest(Deadline deadline) {
  return OfNewest(deadline, [&] { return Connect(deadline); });
}

template <class Get>
std::unique_ptr<Connection> Pool::OfNewest(Deadline deadline, const Get& get) {
  for (std::size_t left = url_.hosts.size();;) {
    auto connection = get();
    const bool is_new = !connection->has_epoch();
    if (IsOfNewest(*connection, deadline)) return connection;
    if (!is_new) continue;  // others have met a newer one since
    if (--left == 0) throw Loss("this server is one over which another was promoted");
    first_host_ = (connection->host() + 1) % url_.hosts.size();
  }
}

bool Pool::AwaitRoom(std::unique_lock<std::mutex>& guard, Deadline deadline, int more) {
  while (lent_ >= most_ + more) {
    const bool is_limited = most_ < kMostLent && limited_until_ < deadline;
    const Deadline until = is_limited ? limited_until_ : deadline;
    if (given_back_.wait_until(guard, until) == std::cv_status::no_timeout) continue;
    if (!is_limited) return false;
    most_ = kMostLent;
  }
  ++lent_;
  return true;
}

bool Pool::AwaitOthers(Deadline deadline) {
  std::unique_lock guard(mutex_);
  if (!idle_.empty()) return true;
  if (lent_ == 1) return false;
  most_ = --lent_;
  limited_until_ = std::chrono::steady_clock::now() + kLimited;
  if (AwaitRoom(guard, deadline, 0)) return true;
  ++lent_;
  return false;
}

std::unique_ptr<Connection> Pool::TakeAny(Deadline deadline) {
  for (;;) {
    if (auto idle = TakeIdle()) return idle;
    try {
      return Connect(deadline);
    } catch (const Loss&) {
      if (!AwaitOthers(deadline)) throw;
    } catch (const StoreException& error) {
      if (!AwaitOthers(deadline)) throw;
      if (error.errc() != Errc::kRefused) continue;
      if (auto idle = TakeIdle()) return idle;  // a session that is there goes on
      throw;
    }
  }
}

void Pool::KnowTables(const std::string& schema) {
  const std::lock_guard guard(mutex_);
  schema_ = schema;
}

bool Pool::IsOfNewest(Connection& connection, Deadline deadline) {
  std::string schema;
  {
    const std::lock_guard guard(mutex_);
    schema = schema_;
  }
  if (!connection.has_epoch() && !schema.empty()) {
    connection.SetEpoch(FindEpoch(connection, schema, deadline).value_or(Epoch()), deadline);
  }
  const std::lock_guard guard(mutex_);
  if (HasOldFloor(connection)) return false;
  floor_ = std::max(floor_, connection.floor());
  return true;
}

bool Pool::IsOld(const Connection& connection) {
  const std::lock_guard guard(mutex_);
  return HasOldFloor(connection);
}

std::unique_ptr<Connection> Pool::TakeIdle() {
  for (;;) {
    std::unique_ptr<Connection> connection;
    bool is_old = false;
    {
      const std::lock_guard guard(mutex_);
      if (idle_.empty()) return nullptr;
      connection = std::move(idle_.back());
      idle_.pop_back();
      is_old = HasOldFloor(*connection);
    }
    if (!is_old && connection->IsIdle()) return connection;
  }
}

void Pool::TakeBack(Connection* connection) noexcept {
  std::unique_ptr<Connection> owned(connection);
  bool is_good = owned && owned->IsAtRest();
  try {
    if (is_good) owned->RenewSession(std::chrono::steady_clock::now() + kRenewal);
  } catch (const std::exception&) {
    is_good = false;
  }
  std::vector<std::unique_ptr<Connection>> as_old;
  {
    const std::lock_guard guard(mutex_);
    --lent_;
    // A pooler keeps connections open to a server that went.
    if (owned && owned->is_lost() && shares_sessions_) as_old.swap(idle_);
    // Otherwise, or without memory for it, it is closed.
    try {
      if (is_good) idle_.push_back(std::move(owned));
    } catch (const std::bad_alloc&) {
    }
  }
  given_back_.notify_all();  // not all of them may take it
}

}  // namespace doclock::postgresql
