#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <thread>
#include <utility>

#include "process/local_port.h"

namespace doclock::cli_test {

/// A cable between a program and a server on this machine, which a test can pull out: then nothing
/// comes through, and neither side gets an error.
class Relay {
 public:
  explicit Relay(int server_port) : server_port_(server_port) {}
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay() {
    over_ = true;
    thread_.join();
    for (const Pair& pair : pairs_) {
      ::close(pair.client);
      ::close(pair.server);
    }
  }

  [[nodiscard]] int port() const noexcept { return port_.number(); }
  /// How many connections were made.
  [[nodiscard]] int connections() const noexcept { return connections_; }
  void Unplug() noexcept { mode_ = Mode::kUnplugged; }
  /// Closes all connections, and new ones as soon as they come.
  void Reset() noexcept { mode_ = Mode::kReset; }
  /// Closes all connections, and refuses new ones.
  void Refuse() noexcept { mode_ = Mode::kRefuse; }

 private:
  enum class Mode : std::uint8_t { kWorks, kUnplugged, kReset, kRefuse };
  struct Pair {
    int client, server;
    bool over = false;
  };

  static bool IsReady(int descriptor, int timeout_ms = 0) {
    pollfd place{.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&place, 1, timeout_ms) == 1;
  }
  /// False when one end has hung up.
  static bool Move(int from, int to) {
    std::array<char, 65536> data{};
    const ssize_t got = ::recv(from, data.data(), data.size(), 0);
    return got > 0 && ::send(to, data.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
  }
  void Accept() {
    const int client = port_.Accept();
    const int server = test::ConnectTo(server_port_);
    if (server < 0) ::shutdown(client, SHUT_RDWR);
    pairs_.push_back({client, server});
    ++connections_;
  }
  static void CloseAtOnce(int descriptor) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(descriptor);
  }
  void HangUp() {
    for (const Pair& pair : pairs_) {
      CloseAtOnce(pair.client);
      ::close(pair.server);
    }
    pairs_.clear();
    if (mode_ == Mode::kRefuse) {
      port_.Shut();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } else if (IsReady(port_.socket(), 5)) {
      CloseAtOnce(port_.Accept());
    }
  }
  void Work() {
    while (!over_) {
      if (mode_ == Mode::kReset || mode_ == Mode::kRefuse) {
        HangUp();
        continue;
      }
      if (mode_ == Mode::kUnplugged) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        continue;
      }
      if (IsReady(port_.socket(), pairs_.empty() ? 5 : 0)) Accept();
      bool idle = true;
      for (Pair& pair : pairs_) {
        if (pair.over) continue;
        for (const auto& [from, to] :
             {std::pair(pair.client, pair.server), std::pair(pair.server, pair.client)}) {
          if (pair.over || !IsReady(from)) continue;
          idle = false;
          pair.over = !Move(from, to);
        }
        if (pair.over) {
          ::shutdown(pair.client, SHUT_RDWR);
          ::shutdown(pair.server, SHUT_RDWR);
        }
      }
      if (idle) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  const int server_port_;
  const test::LocalPort port_;
  std::atomic<Mode> mode_ = Mode::kWorks;
  std::atomic<bool> over_ = false;
  std::atomic<int> connections_ = 0;
  std::list<Pair> pairs_;  ///< The thread's, until it has ended.
  std::thread thread_{[this] { Work(); }};
};

}  // namespace doclock::cli_test
