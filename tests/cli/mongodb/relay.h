#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <stdexcept>
#include <thread>
#include <utility>

namespace doclock::cli_test {

/// A cable between a program and a server on this machine, which a test can pull out: then nothing
/// comes through, and neither side gets an error.
class Relay {
 public:
  explicit Relay(int server_port) : server_port_(server_port) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = AddressOf(0);
    socklen_t size = sizeof address;
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, where, size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, where, &size) != 0) {
      throw std::runtime_error("a relay has no port");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Work(); });
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay() {
    over_ = true;
    thread_.join();
    ::close(listener_);
    for (const Pair& pair : pairs_) {
      ::close(pair.client);
      ::close(pair.server);
    }
  }

  [[nodiscard]] int port() const noexcept { return port_; }
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

  static sockaddr_in AddressOf(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
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
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = AddressOf(server_port_);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::shutdown(client, SHUT_RDWR);
    }
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
      ::shutdown(listener_, SHUT_RDWR);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    } else if (IsReady(listener_, 5)) {
      CloseAtOnce(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
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
      if (IsReady(listener_, pairs_.empty() ? 5 : 0)) Accept();
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
  int listener_ = -1;
  int port_ = 0;
  std::atomic<Mode> mode_ = Mode::kWorks;
  std::atomic<bool> over_ = false;
  std::atomic<int> connections_ = 0;
  std::list<Pair> pairs_;  ///< The thread's, until it has ended.
  std::thread thread_;
};

}  // namespace doclock::cli_test
