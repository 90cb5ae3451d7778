#pragma once

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>

#include "../tests/process/local_port.h"

/// @file
/// A server of this machine as if it were further away.

namespace doclock::bench {

/// A port that passes on to another one, each way after half of `round_trip`.
class DelayedPort {
 public:
  DelayedPort(int target, std::chrono::microseconds round_trip)
      : target_(target), each_way_(round_trip / 2) {}

  [[nodiscard]] int port() const noexcept { return server_.port(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// What one side has said, and when it arrives.
  struct Said {
    Clock::time_point due;
    std::string bytes;
  };

  void Serve(int client) const {
    const int server = test::ConnectTo(target_);
    if (server < 0) return;
    const int sides[] = {client, server};
    for (const int side : sides) {
      constexpr int kYes = 1;
      ::setsockopt(side, IPPROTO_TCP, TCP_NODELAY, &kYes, sizeof kYes);
    }
    std::deque<Said> from[2];
    while (Read(sides, from) && Write(sides, from)) continue;
    ::close(server);
  }
  /// Waits until one of them says something, or is to be told something. False: it is the end.
  bool Read(const int (&sides)[2], std::deque<Said> (&from)[2]) const {
    pollfd both[] = {{sides[0], POLLIN, 0}, {sides[1], POLLIN, 0}};
    auto next = Clock::time_point::max();
    for (const auto& said : from) {
      if (!said.empty()) next = std::min(next, said.front().due);
    }
    const auto wait =
        std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(next - Clock::now()));
    const timespec limit{wait / std::chrono::seconds(1), wait.count() % 1'000'000'000};
    ::ppoll(both, 2, next == Clock::time_point::max() ? nullptr : &limit, nullptr);
    for (const int i : {0, 1}) {
      if (both[i].revents == 0) continue;
      char bytes[65536];
      const ssize_t size = ::read(sides[i], bytes, sizeof bytes);
      if (size <= 0) return false;
      from[i].push_back(
          {Clock::now() + each_way_, std::string(bytes, static_cast<std::size_t>(size))});
    }
    return true;
  }
  static bool Write(const int (&sides)[2], std::deque<Said> (&from)[2]) {
    for (const int i : {0, 1}) {
      for (; !from[i].empty() && from[i].front().due <= Clock::now(); from[i].pop_front()) {
        const std::string& bytes = from[i].front().bytes;
        if (::send(sides[1 - i], bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return false;
      }
    }
    return true;
  }

  const int target_;
  const std::chrono::microseconds each_way_;
  const test::LocalServer server_{[this](int client) { Serve(client); }};
};

}  // namespace doclock::bench
