#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "process/local_port.h"

namespace doclock::postgresql_test {

/// Stands between a store and a server. Can go on to another server, and can lose an answer, each
/// with the connections.
class Proxy {
 public:
  /// @param target the server's port; 0: breaks every connection
  explicit Proxy(int target) : target_(target) {}
  /// Returns once the connections are broken that lead elsewhere.
  void LeadTo(int target) {
    if (target_.exchange(target) == target) return;
    while (CountElsewhere() > 0) std::this_thread::yield();
  }
  /// The next answer that has this text is lost.
  void Lose(std::string text) {
    const std::lock_guard guard(mutex_);
    lost_ = std::move(text);
  }
  [[nodiscard]] int losses() const { return losses_; }
  [[nodiscard]] int port() const { return server_.port(); }
  /// The URL of a server by way of this.
  [[nodiscard]] std::string Before(std::string url) const {
    const std::size_t from = url.rfind(':') + 1;
    return url.replace(from, url.find('/', from) - from, std::to_string(port()));
  }

 private:
  void Serve(int client) {
    const int target = target_;
    const int server = target != 0 ? test::ConnectTo(target) : -1;
    if (server < 0) return;
    Count(target, 1);
    while (target_ == target && Pass(client, server)) continue;
    ::close(server);
    Count(target, -1);
  }
  void Count(int target, int more) {
    const std::lock_guard guard(mutex_);
    connections_[target] += more;
  }
  int CountElsewhere() {
    const std::lock_guard guard(mutex_);
    int count = 0;
    for (const auto& [target, some] : connections_) count += target != target_ ? some : 0;
    return count;
  }
  /// Passes on what one of them says. False: it is the end.
  bool Pass(int client, int server) {
    constexpr int kLookMs = 10;  // for another target
    pollfd both[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    ::poll(both, 2, kLookMs);
    char bytes[65536];
    for (const auto& [from, to] : {std::pair{client, server}, std::pair{server, client}}) {
      if (both[from == server].revents == 0) continue;
      const ssize_t size = ::read(from, bytes, sizeof bytes);
      if (size <= 0) return false;
      const std::string_view said(bytes, static_cast<std::size_t>(size));
      if (from == server && IsToBeLost(said)) return false;
      if (::send(to, bytes, said.size(), MSG_NOSIGNAL) != size) return false;
    }
    return true;
  }
  bool IsToBeLost(std::string_view said) {
    const std::lock_guard guard(mutex_);
    if (lost_.empty() || said.find(lost_) == said.npos) return false;
    lost_.clear();
    ++losses_;
    return true;
  }

  std::atomic<int> target_;
  std::mutex mutex_;
  std::map<int, int> connections_;  ///< To each port.
  std::string lost_;
  std::atomic<int> losses_ = 0;
  const test::LocalServer server_{[this](int client) { Serve(client); }};
};

}  // namespace doclock::postgresql_test
