#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "process/local_port.h"

namespace doclock::mongo_test {

/// A proxy before a server that gives whole answers to the wrong questions, by a seed: those of
/// other connections, those of before, or the one of before to each question from then on; and that
/// hangs up in place of an answer. Neither libmongoc nor a server notices.
class AnswerMixer {
 public:
  /// @param server its port on this machine
  AnswerMixer(int server, std::uint32_t seed) : server_(server), random_(seed) {}

  [[nodiscard]] std::string host() const { return proxy_.host(); }
  /// Mixes one answer of about so many; 0: none.
  void Mix(std::uint32_t one_of) {
    const std::lock_guard guard(mutex_);
    one_of_ = one_of;
  }
  /// How many answers were no good.
  [[nodiscard]] int mixed() {
    const std::lock_guard guard(mutex_);
    return mixed_;
  }

 private:
  static constexpr std::size_t kHead = 16;

  /// A whole message; empty: the connection has ended.
  static std::string Receive(int connection) {
    std::string message(kHead, '\0');
    if (!ReceiveInto(connection, message.data(), kHead)) return {};
    std::int32_t length = 0;
    std::memcpy(&length, message.data(), sizeof length);
    message.resize(static_cast<std::size_t>(length));
    if (!ReceiveInto(connection, message.data() + kHead, message.size() - kHead)) return {};
    return message;
  }
  static bool ReceiveInto(int connection, char* data, std::size_t size) {
    return ::recv(connection, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  static bool Send(int connection, const std::string& message) {
    return ::send(connection, message.data(), message.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(message.size());
  }
  /// Monitoring and handshakes go on as they are.
  static bool IsGreeting(std::string_view question) {
    return question.find("hello") != question.npos || question.find("isMaster") != question.npos ||
           question.find("ismaster") != question.npos;
  }

  void Serve(int client) {
    const int server = test::ConnectTo(server_);
    std::string before;
    bool shifted = false;
    for (std::string question = Receive(client); !question.empty(); question = Receive(client)) {
      if (!Send(server, question)) break;
      std::string answer = Receive(server);
      if (answer.empty()) break;
      if (!IsGreeting(question)) {
        const std::string good = answer;
        if (!Choose(answer, before, shifted)) break;
        before = good;
        // It names the question that it seems to answer.
        std::memcpy(answer.data() + 8, question.data() + 4, 4);
      }
      if (!Send(client, answer)) break;
    }
    ::close(server);
  }
  /// False: no answer.
  bool Choose(std::string& answer, const std::string& before, bool& shifted) {
    const std::lock_guard guard(mutex_);
    const std::string other = std::exchange(last_, answer);
    const std::uint32_t fate = one_of_ > 0 && random_() % one_of_ == 0 ? 1 + random_() % 4 : 0;
    mixed_ += fate > 0 || shifted;
    if (fate == 1 && !other.empty()) answer = other;
    if (fate == 2) shifted = true;
    if ((fate == 3 || shifted) && !before.empty()) answer = before;
    return fate != 4;
  }

  const int server_;
  std::mutex mutex_;
  std::mt19937 random_;
  std::uint32_t one_of_ = 0;
  int mixed_ = 0;
  std::string last_;  ///< Of all connections.
  const test::LocalServer proxy_{[this](int client) { Serve(client); }};
};

}  // namespace doclock::mongo_test
