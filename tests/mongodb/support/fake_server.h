#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mongodb/bson/bson.h"

namespace doclock::mongo_test {

/// A server that speaks MongoDB's protocol and is not MongoDB: it answers each command with what
/// the test says, by the command's name.
class FakeServer {
 public:
  using Answer = std::function<mongodb::Doc(std::string_view command)>;

  explicit FakeServer(Answer answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, where, size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, where, &size) != 0) {
      throw std::runtime_error("a test server has no port");
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
    for (const int connection : connections_) ::close(connection);
  }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string uri() const {
    return "mongodb://127.0.0.1:" + std::to_string(port_) + "/test?directConnection=true";
  }

 private:
  static constexpr std::int32_t kQuery = 2004;
  static constexpr std::int32_t kMessage = 2013;

  void Accept() {
    while (true) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      connections_.push_back(connection);
      threads_.emplace_back([this, connection] { Serve(connection); });
    }
  }
  static bool Receive(int connection, void* data, std::size_t size) {
    return ::recv(connection, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  void Serve(int connection) {
    std::array<std::int32_t, 4> header{};  // length, request, response to, kind
    while (Receive(connection, header.data(), sizeof header)) {
      std::vector<char> rest(static_cast<std::size_t>(header[0]) - sizeof header);
      if (!Receive(connection, rest.data(), rest.size())) return;
      const bool is_query = header[3] == kQuery;
      // A query: flags, the collection's name, two numbers. A message: flags, the kind of section.
      const std::size_t start = is_query ? 4 + std::strlen(rest.data() + 4) + 1 + 8 : 5;
      // The command's name is the first field's: after the length and the type.
      const mongodb::Doc answer = answer_(rest.data() + start + 5);
      Reply(connection, header[1], is_query, *answer.get());
    }
  }
  static void Reply(int connection, std::int32_t request, bool is_query, const bson_t& answer) {
    std::string body(is_query ? 20 : 5, '\0');
    if (is_query) body[16] = 1;  // the number of documents
    body.append(reinterpret_cast<const char*>(bson_get_data(&answer)), answer.len);
    const std::array<std::int32_t, 4> header{static_cast<std::int32_t>(body.size() + 16), 1,
                                             request, is_query ? 1 : kMessage};
    std::string all(reinterpret_cast<const char*>(header.data()), sizeof header);
    all += body;
    static_cast<void>(::send(connection, all.data(), all.size(), MSG_NOSIGNAL));
  }

  Answer answer_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<int> connections_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace doclock::mongo_test
