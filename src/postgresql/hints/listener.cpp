#include "postgresql/hints/listener.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "doclock/errors.h"
#include "platform/standard_numbers.h"
#include "postgresql/client/quoted.h"

namespace doclock::postgresql {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeout = 10s;
/// Between attempts to connect.
constexpr int kPauseMs = 1000;
/// A connection that is silent for so long is asked.
constexpr int kSilenceMs = 30'000;

/// Writers see that it is held, and send hints.
constexpr auto kAskForHints = &Fixed<[] { return "SELECT pg_advisory_lock_shared($1)"; }>;
constexpr auto kAskNoMore = &Fixed<[] { return "SELECT pg_advisory_unlock_shared($1)"; }>;

Deadline Soon() { return std::chrono::steady_clock::now() + kTimeout; }

}  // namespace

WakePipe::WakePipe() {
  const platform::StandardNumbersTaken taken;  // neither end gets the number of a closed 0 to 2
#ifdef __linux__
  const bool made = ::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0;
#else
  const bool made = ::pipe(ends_) == 0;
#endif
  if (!made) {
    throw StoreException(Errc::kUnavailable,
                         "doclock: no pipe: " + std::generic_category().message(errno));
  }
#ifndef __linux__
  for (const int end : ends_) {
    ::fcntl(end, F_SETFL, O_NONBLOCK);
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
  }
#endif
}

WakePipe::~WakePipe() {
  for (const int end : ends_) ::close(end);
}

void WakePipe::Wake() const noexcept {
  // A pipe that is full wakes as well.
  static_cast<void>(!::write(ends_[1], "", 1));
}

bool WakePipe::Wait(int socket, int milliseconds) const {
  std::array<pollfd, 2> waits{pollfd{ends_[0], POLLIN, 0}, pollfd{socket, POLLIN, 0}};
  const int ready = ::poll(waits.data(), waits.size(), milliseconds);
  // Without descriptors poll waits always, also where the process may have less than two now.
  if (ready < 0 && errno != EINTR) ::poll(nullptr, 0, std::min(milliseconds, kPauseMs));
  std::array<char, 64> ignored;
  while (::read(ends_[0], ignored.data(), ignored.size()) > 0) continue;
  return ready != 0;
}

std::unique_ptr<Subscription> Listener::Watch(
    const std::shared_ptr<PostgresqlCollection>& collection, HintListener listener) {
  auto watch = collection->watchers().Add(std::move(listener));
  {
    const std::lock_guard guard(mutex_);
    const bool is_new = std::ranges::find(collections_, collection) == collections_.end();
    if (is_new) collections_.push_back(collection);
  }
  return Keep(std::move(watch));
}

std::function<void()> Listener::Listen() {
  return [this] {
    try {
      Run();
    } catch (const std::exception&) {
      // The server is away, or memory is short.
      pipe_.Wait(-1, kPauseMs);
    }
  };
}

void Listener::Run() {
  const std::unique_ptr<Connection> connection = pool_.ConnectToNewest(Soon());
  std::vector<bool> asked;
  const auto goes_on = [&] { return IsWanted() && !pool_.IsOld(*connection); };
  for (bool silent = false; goes_on(); silent = !pipe_.Wait(connection->socket(), kSilenceMs)) {
    Update(*connection, asked, silent);
    for (const auto& notification : connection->TakeNotifications()) Hear(notification);
  }
}

void Listener::Update(Connection& connection, std::vector<bool>& asked, bool ask) {
  const auto all = Collections();
  std::vector<PostgresqlCollection*> fresh;
  bool sends = ask;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == asked.size()) {
      connection.Command("LISTEN " + QuotedName(all[i]->table_name()));
      asked.push_back(false);
    }
    const bool watched = all[i]->watchers().HasAny();
    if (watched == asked[i]) continue;
    asked[i] = watched;
    connection.Send(watched ? kAskForHints() : kAskNoMore(),
                    Parameters().Int8(all[i]->hint_lock()));
    if (watched) fresh.push_back(all[i].get());
    sends = true;
  }
  if (sends) connection.Run(Soon());
  // What came before was not heard.
  for (PostgresqlCollection* const collection : fresh) collection->watchers().Tell({});
}

void Listener::Hear(const Connection::Notification& notification) {
  const auto hint = Hint::FromText(notification.payload);
  if (!hint || (hint->instance != 0 && hint->instance != instance_)) return;
  for (const auto& collection : Collections()) {
    if (collection->table_name() != notification.channel) continue;
    LockHint told{hint->hash};
    if (hint->instance != 0) told.grant.emplace();  // to one of ours, who reads the rest
    collection->watchers().Tell(told);
  }
}

std::vector<std::shared_ptr<PostgresqlCollection>> Listener::Collections() {
  const std::lock_guard guard(mutex_);
  return collections_;
}

}  // namespace doclock::postgresql
