#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "process/local_port.h"

namespace doclock::postgresql_test {

/// The messages of one direction of a connection, which begin with a byte for their type once the
/// session is begun. The bytes of an incomplete one wait.
class Messages {
 public:
  /// What a client says before: messages without a type, which begin with their length.
  static Messages OfClient() { return Messages(true); }
  /// What a server says before: one byte each for TLS and for GSSAPI.
  static Messages OfServer() { return Messages(false); }

  void Add(std::string_view bytes) { bytes_ += bytes; }
  /// The next message; empty: it is not complete.
  std::string Take() {
    const std::size_t head = begun_ ? 5 : is_client_ ? 4 : 1;
    if (bytes_.size() < head) return {};
    if (!begun_ && !is_client_ && bytes_.front() != 'R' && bytes_.front() != 'E') return Cut(1);
    if (!begun_ && !is_client_) {
      begun_ = true;
      return Take();
    }
    std::size_t size = begun_ ? 1 : 0;
    const std::size_t at = size;
    std::uint32_t length = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      length = length << 8 | static_cast<unsigned char>(bytes_[i]);
    }
    size += length;
    if (bytes_.size() < size) return {};
    // Requests for TLS and GSSAPI have eight bytes, and others follow.
    if (!begun_ && length > 8) begun_ = true;
    return Cut(size);
  }
  [[nodiscard]] bool begun() const noexcept { return begun_; }

 private:
  explicit Messages(bool is_client) : is_client_(is_client) {}
  std::string Cut(std::size_t size) {
    std::string message = bytes_.substr(0, size);
    bytes_.erase(0, size);
    return message;
  }

  bool is_client_;
  bool begun_ = false;
  std::string bytes_;
};

/// What is done to an answer: all that the server says to one pipeline.
enum class Fault : std::uint8_t {
  kNone,
  kDrop,
  kRepeat,
  kDelay,     ///< It comes together with the next one, behind it.
  kEarlier,   ///< The answer before it comes in its place.
  kExchange,  ///< It and the next answer of another connection take each other's place.
  kOthers,    ///< The last answer of another connection with messages of the same types does.
};

/// Stands between a store and a server. Can go on to another server, and can lose an answer, each
/// with the connections. Can mix answers up.
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
  /// Does this to the next answers, one each.
  void Meddle(std::vector<Fault> faults) {
    const std::lock_guard guard(mutex_);
    faults_ = std::move(faults);
  }
  /// Does anything to one answer of `one_of`, by chance; 0: to none from now on.
  void MeddleAtRandom(int one_of, unsigned seed = 0) {
    const std::lock_guard guard(mutex_);
    one_of_ = one_of;
    random_.seed(seed);
  }
  /// Breaks all connections.
  void BreakAll() { ++generation_; }
  /// How many answers it did something to.
  [[nodiscard]] int faults() const { return faulted_; }
  /// The statements that clients sent, each once.
  std::set<std::string> statements() {
    const std::lock_guard guard(mutex_);
    return statements_;
  }
  /// The most pipelines that were in flight at once on a connection.
  [[nodiscard]] int most_in_flight() const { return most_in_flight_; }
  /// Breaks each connection that has as many pipelines in flight, before it passes on an answer.
  void BreakBehind(int pipelines) { break_behind_ = pipelines; }
  [[nodiscard]] int port() const { return server_.port(); }
  /// The URL of a server by way of this.
  [[nodiscard]] std::string Before(std::string url) const {
    const std::size_t from = url.rfind(':') + 1;
    return url.replace(from, url.find('/', from) - from, std::to_string(port()));
  }

 private:
  struct Connection {
    Connection(int a_client, int a_server) : client(a_client), server(a_server) {}
    const int client, server;
    Messages asks = Messages::OfClient(), answers = Messages::OfServer();
    std::string answer, types;     ///< So far, and the types of its messages.
    std::string earlier, delayed;  ///< Whole answers.
    bool has_begun = false;        ///< The first one ends the login.
    int in_flight = 0;
  };

  void Serve(int client) {
    const int target = target_;
    const int server = target != 0 ? test::ConnectTo(target) : -1;
    if (server < 0) return;
    Count(target, 1);
    Connection connection(client, server);
    const int generation = generation_;
    while (target_ == target && generation_ == generation && Pass(connection)) continue;
    {
      const std::lock_guard guard(mutex_);
      std::erase_if(last_, [&](const auto& one) { return one.second.from == &connection; });
    }
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
  bool Pass(Connection& connection) {
    constexpr int kLookMs = 10;  // for another target
    pollfd both[] = {{connection.client, POLLIN, 0}, {connection.server, POLLIN, 0}};
    ::poll(both, 2, kLookMs);
    char bytes[65536];
    for (const bool asks : {true, false}) {
      const int from = asks ? connection.client : connection.server;
      if (both[asks ? 0 : 1].revents == 0) continue;
      const ssize_t size = ::read(from, bytes, sizeof bytes);
      if (size <= 0) {
        Write(connection.client, connection.answer);  // the last word of the server
        return false;
      }
      const std::string_view said(bytes, static_cast<std::size_t>(size));
      if (asks ? !PassQuestion(connection, said) : !PassAnswer(connection, said)) return false;
    }
    return true;
  }
  static bool Write(int to, std::string_view text) {
    return ::send(to, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  bool PassQuestion(Connection& connection, std::string_view said) {
    connection.asks.Add(said);
    for (std::string one = connection.asks.Take(); !one.empty(); one = connection.asks.Take()) {
      if (one.front() == 'S' || one.front() == 'Q') ++connection.in_flight;
      if (!connection.has_begun || (one.front() != 'P' && one.front() != 'Q')) continue;
      // Of a statement to prepare the name comes first.
      const std::size_t at = one.front() == 'P' ? one.find('\0', 5) + 1 : 5;
      const std::lock_guard guard(mutex_);
      statements_.insert(one.c_str() + at);
    }
    int most = most_in_flight_;
    while (most < connection.in_flight &&
           !most_in_flight_.compare_exchange_weak(most, connection.in_flight)) {
    }
    if (!Write(connection.server, said)) return false;
    return break_behind_ == 0 || connection.in_flight < break_behind_;
  }
  bool PassAnswer(Connection& connection, std::string_view said) {
    if (IsToBeLost(said)) return false;
    connection.answers.Add(said);
    for (std::string one = connection.answers.Take(); !one.empty();
         one = connection.answers.Take()) {
      connection.answer += one;
      connection.types += one.front();
      if (connection.answers.begun() && one.front() == 'Z') {
        if (!EndAnswer(connection)) return false;
      } else if (!connection.has_begun || connection.in_flight == 0) {
        if (!Write(connection.client, connection.answer)) return false;
        connection.answer.clear();
        connection.types.clear();
      }
    }
    return true;
  }
  bool EndAnswer(Connection& connection) {
    const std::string answer = std::exchange(connection.answer, {});
    const std::string types = std::exchange(connection.types, {});
    if (!std::exchange(connection.has_begun, true)) return Write(connection.client, answer);
    --connection.in_flight;
    const std::string said = MixUp(connection, answer, types);
    connection.earlier = answer;
    return said.empty() || Write(connection.client, said);
  }
  /// What comes in the place of an answer.
  std::string MixUp(Connection& connection, const std::string& answer, const std::string& types) {
    std::unique_lock guard(mutex_);
    const Fault fault = NextFault();
    std::string others;
    if (const auto last = last_.find(types);
        last != last_.end() && last->second.from != &connection) {
      others = last->second.answer;
    }
    last_[types] = {&connection, answer};
    const std::string behind = std::exchange(connection.delayed, {});
    switch (fault) {
      case Fault::kNone:
        return answer + behind;
      case Fault::kDrop:
        break;
      case Fault::kRepeat:
        return Faulted(answer + answer);
      case Fault::kDelay:
        connection.delayed = answer;
        break;
      case Fault::kEarlier:
        return connection.earlier.empty() ? answer : Faulted(connection.earlier);
      case Fault::kOthers:
        return others.empty() ? answer : Faulted(others);
      case Fault::kExchange:
        return Exchange(answer, guard);
    }
    return Faulted({});
  }
  std::string Faulted(std::string said) {
    ++faulted_;
    return said;
  }
  Fault NextFault() {
    if (!faults_.empty()) {
      const Fault fault = faults_.front();
      faults_.erase(faults_.begin());
      return fault;
    }
    if (one_of_ == 0 || random_() % static_cast<unsigned>(one_of_) != 0) return Fault::kNone;
    // A dropped answer takes a call as long as it has: mostly it is another fault.
    constexpr Fault kAll[] = {Fault::kRepeat, Fault::kEarlier, Fault::kOthers, Fault::kExchange,
                              Fault::kRepeat, Fault::kEarlier, Fault::kOthers, Fault::kOthers,
                              Fault::kRepeat, Fault::kEarlier, Fault::kDrop,   Fault::kDelay};
    return kAll[random_() % std::size(kAll)];
  }
  /// Gives an answer to another connection that waits for one, and takes the other's; or waits
  /// until another one gives its answer, and if none comes, passes its own on.
  std::string Exchange(const std::string& answer, std::unique_lock<std::mutex>& guard) {
    if (std::string* const other = std::exchange(waiting_, nullptr)) {
      exchange_.notify_all();
      return Faulted(std::exchange(*other, answer));
    }
    const std::chrono::milliseconds patience{one_of_ != 0 ? 50 : 5000};
    std::string slot = answer;
    waiting_ = &slot;
    if (exchange_.wait_for(guard, patience, [&] { return waiting_ != &slot; })) {
      return Faulted(slot);
    }
    waiting_ = nullptr;
    return answer;
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
  std::set<std::string> statements_;
  std::string lost_;
  std::atomic<int> losses_ = 0;
  std::vector<Fault> faults_;
  int one_of_ = 0;
  std::minstd_rand random_;
  struct Last {
    const Connection* from;
    std::string answer;
  };
  std::map<std::string, Last> last_;  ///< By the types of their messages.
  std::condition_variable exchange_;
  std::string* waiting_ = nullptr;  ///< An answer that is to be exchanged.
  std::atomic<int> faulted_ = 0, most_in_flight_ = 0, break_behind_ = 0, generation_ = 0;
  const test::LocalServer server_{[this](int client) { Serve(client); }};
};

}  // namespace doclock::postgresql_test
