#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "postgresql/support/proxy.h"
#include "process/local_port.h"

namespace doclock::postgresql_test {

/// A number as the protocol has it.
inline std::string BigEndian(std::int64_t number, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text += static_cast<char>(static_cast<std::uint64_t>(number) >> shift & 0xff);
  }
  return text;
}

/// A message of the server.
inline std::string Message(char type, std::string_view body) {
  return type + BigEndian(static_cast<std::int64_t>(body.size()) + 4, 4).append(body);
}

inline std::string ErrorMessage(const std::string& severity, const std::string& state,
                                const std::string& text) {
  const std::string zero(1, '\0');
  return Message('E', "S" + severity + zero + "C" + state + zero + "M" + text + zero + zero);
}

/// Says what a test wants: at the login, or to each pipeline.
class FakeServer {
 public:
  /// @param login what it says to a client; empty: it lets the client in
  FakeServer(std::string login, std::function<std::string()> answer)
      : login_(std::move(login)), answer_(std::move(answer)) {}
  [[nodiscard]] std::string url() const {
    return "postgresql://me:secret@" + server_.host() +
           "/orders?sslmode=disable&gssencmode=disable";
  }

 private:
  static std::string LetIn() {
    const auto is = [](const std::string& name, const std::string& value) {
      return Message('S', name + std::string(1, '\0') + value + std::string(1, '\0'));
    };
    return Message('R', BigEndian(0, 4)) + is("server_version", "15.0") +
           is("in_hot_standby", "off") + is("default_transaction_read_only", "off") +
           Message('K', BigEndian(1, 8)) + Message('Z', "I");
  }
  void Serve(int client) {
    Messages asks = Messages::OfClient();
    char bytes[8192];
    for (bool is_in = false;;) {
      const ssize_t size = ::read(client, bytes, sizeof bytes);
      if (size <= 0) return;
      asks.Add({bytes, static_cast<std::size_t>(size)});
      for (std::string one = asks.Take(); !one.empty(); one = asks.Take()) {
        if (is_in && one.front() != 'S') continue;
        const std::string said = is_in ? answer_() : login_.empty() ? LetIn() : login_;
        if (::send(client, said.data(), said.size(), MSG_NOSIGNAL) < 0 || said == login_) return;
        is_in = true;
      }
    }
  }

  const std::string login_;
  const std::function<std::string()> answer_;
  const test::LocalServer server_{[this](int client) { Serve(client); }};
};

}  // namespace doclock::postgresql_test
