#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "doclock/uuid_json.h"
#include "locking/database.h"
#include "postgresql/failure.h"
#include "postgresql/url.h"
#include "postgresql/values.h"

namespace doclock::postgresql {

using locking::Deadline;

/// The text of a statement, which stays where it is: a connection prepares it once.
struct Statement {
  std::string sql;
};

/// A connection to the server, in pipeline mode: statements are sent together, and answered
/// together. No call takes longer than its deadline, and none cancels what was sent. Used by one
/// thread at a time. Throws Refusal and Loss.
class Connection {
 public:
  /// Tries the hosts in turn, each for its share of the time. @throws Loss if one of them may take
  /// the connection later; else StoreException (kRefused), which names the last one's reason
  Connection(const Url& url, Deadline deadline);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  /// In a forked child it leaves the parent's session alone.
  ~Connection();

  /// Sets what a role may have set so that it ends the session or its first statements, or hides
  /// what a commit did not do.
  void FreeSession(Deadline deadline);

  /// Queues a statement, and returns which of Run's results will be its.
  std::size_t Send(const Statement& statement, const Parameters& parameters = {});
  /// Of a statement that is sent once: it is not kept prepared.
  std::size_t SendOnce(const std::string& sql, const Parameters& parameters = {});
  /// Sends what was queued, and waits for all answers. The statements behind one that is refused
  /// are not executed. @throws Refusal of the first one
  std::vector<Result> Run(Deadline deadline);
  /// Sends what was queued, and leaves the answers, good or bad, to the next Run.
  void RunUnheard() noexcept;

  /// The least version that a grant or a write over it gives: see FindFloor.
  [[nodiscard]] std::int64_t floor() const noexcept { return floor_.value_or(0); }
  [[nodiscard]] bool has_floor() const noexcept { return floor_.has_value(); }
  /// Tells the session too. Outside of a transaction. @throws Loss
  void SetFloor(std::int64_t floor);

  /// Lets statements wait for rows for less than is left until the deadline, so that the server
  /// answers before it. Outside of a transaction. @throws Loss
  void LimitWaits(Deadline deadline);

  /// Has the server nothing more to say, so that the session can be used again? Does not wait.
  [[nodiscard]] bool IsIdle() noexcept;
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }
  /// Did a commit since the last Run began not wait for the standbys that it should have waited
  /// for? (The wait was cancelled; the server warns of that alone.)
  [[nodiscard]] bool unreplicated() const noexcept { return unreplicated_; }

  /// Gives the connection out as libpq's functions expect it, which then wait without a deadline.
  /// Nothing is queued or unheard. @throws Loss
  PGconn* Lend();
  /// Takes it back, whatever has become of its session. @throws Loss if it is in the middle of
  /// something
  void TakeBack();
  /// Was it lent since the last DiscardSession? Then its settings may be another's own.
  [[nodiscard]] bool was_lent() const noexcept { return was_lent_; }
  /// Makes the session what it was when it began, without waiting for the answer. Outside of a
  /// transaction. @throws Loss
  void DiscardSession();

  [[nodiscard]] int socket() const noexcept { return PQsocket(connection_); }
  /// The server's process, as it told when the session began. (A pooler tells something else.)
  [[nodiscard]] int backend() const noexcept { return PQbackendPID(connection_); }
  /// The channel and the payload of a notification that has come.
  struct Notification {
    std::string channel;
    std::string payload;
  };
  /// Those that have come. Does not wait.
  std::vector<Notification> TakeNotifications();

 private:
  /// What was sent, and is not answered yet.
  struct Sent {
    enum class Kind : std::uint8_t { kPrepare, kStatement, kSync } kind;
    const Statement* statement = nullptr;
  };

  void Connect(const Url& url, const Host& host, Deadline deadline);
  [[noreturn]] void Lose(const std::string& text, bool nothing_done = false);
  void Check(int good) {
    if (good != 1) Lose("the connection broke");
  }
  /// Throws what the failure to connect means. @param alone is there no other host?
  /// @throws Loss, StoreException
  [[noreturn]] void RefuseConnection(bool alone);
  void HearWarnings() noexcept;
  /// All answers up to the last Sync, but for those of earlier ones.
  std::vector<Result> HearAll(Deadline deadline, std::vector<Refusal>& refusals);
  void Sync();
  /// False: it would have to wait.
  bool Flush();
  void WaitFor(short events, Deadline deadline);
  Result Next(Deadline deadline);
  /// Looks at one answer. False: another one to the same follows. @throws Loss
  bool Hear(const Sent& sent, Result result, std::vector<Result>& results,
            std::vector<Refusal>& refusals);

  PGconn* connection_ = nullptr;
  const std::uint32_t generation_;
  bool lost_ = false;
  bool unreplicated_ = false;
  bool was_lent_ = false;
  std::optional<std::int64_t> floor_;
  std::chrono::milliseconds longest_wait_{};  ///< For a row; zero: it has no limit.
  std::size_t queued_ = 0;                    ///< Statements since the last Sync.
  std::deque<Sent> sent_;
  std::unordered_map<const Statement*, std::string> prepared_;
  /// Of prepared statements. No other client's are called so: a pooler may mix them up.
  const std::string prefix_ = "doclock_" + ToText(NewUuid()) + "_";
  std::size_t names_ = 0;
};

}  // namespace doclock::postgresql
