#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace doclock::test {

/// The address of a port of this machine; of 0 the system chooses one.
inline sockaddr_in LocalAddress(int port) {
  return {AF_INET, htons(static_cast<std::uint16_t>(port)), {htonl(INADDR_LOOPBACK)}, {}};
}

/// Connects to a port of this machine. Returns the connection, or -1.
inline int ConnectTo(int port) {
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = LocalAddress(port);
  const auto* const where = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(connection, where, sizeof address) == 0) return connection;
  ::close(connection);
  return -1;
}

/// A port of this machine that takes connections, and is silent until they are accepted.
class LocalPort {
 public:
  LocalPort() {
    sockaddr_in address = LocalAddress(0);
    socklen_t size = sizeof address;
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_, where, size) != 0 || ::listen(socket_, 128) != 0 ||
        ::getsockname(socket_, where, &size) != 0) {
      throw std::runtime_error("a test has no port");
    }
    number_ = ntohs(address.sin_port);
  }
  LocalPort(const LocalPort&) = delete;
  LocalPort& operator=(const LocalPort&) = delete;
  ~LocalPort() { ::close(socket_); }

  [[nodiscard]] int number() const noexcept { return number_; }
  /// As a URI names it, with the number.
  [[nodiscard]] std::string host() const { return "127.0.0.1:" + std::to_string(number_); }
  [[nodiscard]] int socket() const noexcept { return socket_; }
  /// Waits for a connection; -1 after Shut.
  [[nodiscard]] int Accept() const noexcept {
    return ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  }
  /// Takes no more connections.
  void Shut() const noexcept { ::shutdown(socket_, SHUT_RDWR); }

 private:
  const int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int number_ = 0;
};

/// Serves each connection to a port of its own on a thread of its own, and then hangs up.
class LocalServer {
 public:
  explicit LocalServer(std::function<void(int connection)> serve) : serve_(std::move(serve)) {}
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;
  /// Hangs up on those that are still served.
  ~LocalServer() {
    port_.Shut();
    acceptor_.join();
    for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
    threads_.clear();
    for (const int connection : connections_) ::close(connection);
  }

  [[nodiscard]] int port() const noexcept { return port_.number(); }
  [[nodiscard]] std::string host() const { return port_.host(); }

 private:
  void Accept() {
    for (int connection = port_.Accept(); connection >= 0; connection = port_.Accept()) {
      connections_.push_back(connection);
      threads_.emplace_back([this, connection] {
        serve_(connection);
        ::shutdown(connection, SHUT_RDWR);
      });
    }
  }

  const std::function<void(int)> serve_;
  const LocalPort port_;
  std::vector<int> connections_;
  std::vector<std::jthread> threads_;
  std::thread acceptor_{[this] { Accept(); }};
};

}  // namespace doclock::test
