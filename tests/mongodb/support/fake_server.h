#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mongodb/bson/bson.h"
#include "process/local_port.h"

namespace doclock::mongo_test {

/// A server that speaks MongoDB's protocol and is not MongoDB: it answers each command with what
/// the test says, by the command's name.
class FakeServer {
 public:
  using Answer = std::function<mongodb::Doc(std::string_view command)>;

  explicit FakeServer(Answer answer) : answer_(std::move(answer)) {}

  [[nodiscard]] int port() const noexcept { return server_.port(); }
  [[nodiscard]] std::string uri() const {
    return "mongodb://" + server_.host() + "/test?directConnection=true";
  }

 private:
  static constexpr std::int32_t kQuery = 2004;
  static constexpr std::int32_t kMessage = 2013;

  static bool Receive(int connection, void* data, std::size_t size) {
    return ::recv(connection, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  void Serve(int connection) const {
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

  const Answer answer_;
  const test::LocalServer server_{[this](int connection) { Serve(connection); }};
};

}  // namespace doclock::mongo_test
