#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "doclock/json/uuid.h"
#include "locking/database.h"
#include "postgresql/client/epoch.h"
#include "postgresql/client/failure.h"
#include "postgresql/client/url.h"
#include "postgresql/client/values.h"

namespace doclock::postgresql {

/// A condition that always holds. A SELECT without a volatile function is one that poolers may send
/// to a standby, or answer from a cache: both may lack what was written before.
inline constexpr std::string_view kByPrimary = "clock_timestamp() IS NOT NULL";

using locking::Deadline;

/// The text of a statement, which stays where it is: a connection prepares it once.
struct Statement {
  std::string sql;
};

/// One that is the same in each program: made at its first use and never destroyed, since globals
/// may use a store before main and after it.
template <auto kSql>
const Statement& Fixed() {
  static const auto* const statement = new Statement{kSql()};
  return *statement;
}

/// An expression, a value for synchronous_commit: as it is, but an acknowledged lock is on the
/// disk.
inline constexpr std::string_view kDurableCommit =
    "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'"
    " ELSE current_setting('synchronous_commit') END";

/// How long a statement waits for a lock of another client (once for each such lock), unless its
/// transaction has another limit. A unit that may wait for longer is run again.
inline constexpr std::chrono::milliseconds kLockWait{250};
/// An expression, the same as a value for lock_timeout.
inline constexpr std::string_view kLockTimeout = "'250ms'";

/// Returns a number above zero that is near to no other client's, and leaves room for counting.
std::int64_t RandomNumber();

/// A connection to the server, in pipeline mode: statements are sent together, and answered
/// together. No call takes longer than its deadline, and none cancels what was sent. Used by one
/// thread at a time. Throws Refusal and Loss.
///
/// At most one pipeline is in flight: a pooler takes the server's session away after the first end
/// of one, and gives the answers to what follows to another client. And each pipeline asks for a
/// number of its own, without which none of its answers is believed: a pooler or a proxy may mix
/// answers up.
///
/// A pooler may give each transaction another session, which other clients use before and after:
/// see ShareSessions. Nothing is prepared in it then, and nothing set beyond one transaction.
class Connection {
 public:
  /// Tries the hosts in turn from `first_host` on, each for its share of the time. @throws Loss,
  /// which is for good unless one of them may take the connection later, and names the last one's
  /// reason
  Connection(const Url& url, Deadline deadline, std::size_t first_host = 0);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  /// In a forked child it leaves the parent's session alone.
  ~Connection();

  /// Does another session receive what this one listens to? Behind a pooler that gives each
  /// transaction another session it does not. Asks a server's own session nothing more.
  [[nodiscard]] bool KeepsItsSession(const Url& url, Deadline deadline);
  /// Each transaction has another session. Called before all but KeepsItsSession.
  void ShareSessions() noexcept { shares_sessions_ = true; }
  [[nodiscard]] bool shares_sessions() const noexcept { return shares_sessions_; }
  /// Makes the session this library's. (Shared ones it sets up in Begin.) @throws Refusal, Loss
  void SetUp(Deadline deadline);

  /// Queues the begin of a transaction that writes.
  void Begin();
  /// Queues the begin of a transaction that reads, and sees one moment.
  void BeginSnapshot();
  /// Queues that what follows in a transaction waits at most so long for each lock of another
  /// client; above zero.
  void LimitLockWaits(std::chrono::milliseconds most);
  /// Queues the end of a transaction.
  void Commit();
  void Rollback();
  /// Queues a statement that gives rows, and returns which of Run's results will be its.
  std::size_t Send(const Statement& statement, const Parameters& parameters = {});
  /// Queues one that is sent once: it is not kept prepared.
  std::size_t SendOnce(const std::string& sql, const Parameters& parameters = {});
  /// Queues one that gives no rows, and returns the place of its result.
  std::size_t Command(const std::string& sql, const Parameters& parameters = {});
  /// Sends what was queued, and waits for all answers. The statements behind one that is refused
  /// are not executed. @throws Refusal of the first one; Loss if the answers are not those to what
  /// was sent
  std::vector<Result> Run(Deadline deadline);
  /// Sends what was queued and a statement that is sent once, and returns its result. @throws as
  /// Run
  Result Ask(const std::string& sql, const Parameters& parameters, Deadline deadline) {
    SendOnce(sql, parameters);
    return std::move(Run(deadline).back());
  }
  /// Sends what was queued, and a commit; if anything is refused, a rollback. @throws Refusal, Loss
  void RunAndCommit(Deadline deadline);
  /// Ends the transaction, with what was queued. If that fails, the connection is lost.
  void RunAndRollback(Deadline deadline) noexcept;

  [[nodiscard]] std::int64_t floor() const noexcept { return epoch_ ? epoch_->floor : 0; }
  /// The place of its host in the URL.
  [[nodiscard]] std::size_t host() const noexcept { return host_; }
  [[nodiscard]] bool has_epoch() const noexcept { return epoch_.has_value(); }
  /// Tells the session too. Outside of a transaction. @throws Refusal, Loss
  void SetEpoch(Epoch epoch, Deadline deadline);

  /// Whether the session is in no transaction, nothing is queued and all was answered.
  [[nodiscard]] bool IsAtRest() const noexcept;
  /// Whether it is at rest, and the server neither ended it nor said anything unasked. Does not
  /// wait.
  [[nodiscard]] bool IsIdle() noexcept;
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }
  /// Did a commit since the last Run began not wait for the standbys that it should have waited
  /// for? (The wait was cancelled; the server warns of that alone.)
  [[nodiscard]] bool unreplicated() const noexcept { return unreplicated_; }

  /// Gives the connection out as libpq's functions expect it, which then wait without a deadline.
  /// Nothing is queued. @throws Loss
  PGconn* Lend();
  /// Takes it back, whatever has become of its session. @throws Loss if it is in the middle of
  /// something
  void TakeBack();
  /// Makes the session of one that was lent this library's again. Outside of a transaction.
  /// @throws Refusal, Loss
  void RenewSession(Deadline deadline);

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
    enum class Kind : std::uint8_t {
      kPrepare,
      kRows,  ///< Its answer is a result of Run. (Likewise of kCommand.)
      kCommand,
      kProof,     ///< The answer has the pipeline's own number.
      kSettings,  ///< Those of a shared session. The answer is of no interest, nor of kControl.
      kControl,   ///< The begin or the end of a transaction or of a session's state.
      kSync
    } kind;
    const Statement* statement = nullptr;
    std::string tag = {};  ///< What the answer to a command begins with.
  };
  using Kind = Sent::Kind;
  /// The answers to one pipeline.
  struct Answers {
    std::vector<Result> results;
    std::optional<Refusal> refusal;  ///< The first one.
    bool is_begun = false;           ///< A statement was answered with a result.
    bool is_proved = false;          ///< They are those to this pipeline.
  };

  void Connect(const Url& url, const Host& host, Deadline deadline);
  [[noreturn]] void Lose(const std::string& text, bool nothing_done = false);
  [[noreturn]] void LoseStep();
  void Check(int good) {
    if (good != 1) Lose("the connection broke");
  }
  /// Throws what the failure to connect means. @param alone is there no other host?
  /// @throws Loss
  [[noreturn]] void RefuseConnection(bool alone);
  void HearNotices() noexcept;
  bool Receives(const std::string& payload, Deadline deadline);
  /// Refuses a pooler that hides a search path of the URL: other clients have another schema.
  void RequireSearchPath(Deadline deadline);
  /// Ends what KeepsItsSession began, in this session of the server.
  void Unlisten(std::int64_t session, Deadline deadline);
  /// Runs what is sent, again if the role's statement_timeout was too short for it.
  template <class F>
  std::vector<Result> RunAtFirst(const F& send, Deadline deadline);
  /// Lets the server look after its client meanwhile, if it can.
  void WatchClient(Deadline deadline);
  void Queue(Kind kind, const Statement& statement, const Parameters& parameters);
  void QueueOnce(Kind kind, const std::string& sql, const Parameters& parameters);
  /// Queues the question for the number of this pipeline, unless it stands there. Behind the begin
  /// or the end of a transaction, and before all else, so that it is answered before anything is
  /// refused.
  void QueueProof();
  Answers RunUnproved(Deadline deadline);
  std::vector<Result> Proved(Answers answers);
  void Sync();
  /// Returns true; false if it would have to wait.
  bool Flush();
  void WaitFor(short events, Deadline deadline);
  Result Next(Deadline deadline);
  /// Reads one answer. Returns true; false if another one to the same follows. @throws Loss
  bool Hear(const Sent& sent, Result result, Answers& answers);
  void HearGood(const Sent& sent, Result result, Answers& answers);
  void HearRefusal(const Sent& sent, const Result& result, Answers& answers);

  PGconn* connection_ = nullptr;
  const std::uint32_t generation_;
  bool lost_ = false;
  bool unreplicated_ = false;
  bool shares_sessions_ = false;
  bool prepares_ = false;  ///< Its session is known to be its own.
  bool was_lent_ = false;  ///< The settings of its session may be another's own.
  std::size_t host_;
  std::optional<Epoch> epoch_;
  std::size_t queued_ = 0;  ///< Results of Run.
  bool has_proof_ = false;  ///< The question for `proof_` is queued.
  std::int64_t proof_ = RandomNumber();
  std::deque<Sent> sent_;
  std::unordered_map<const Statement*, std::string> prepared_;
  /// Begins the names of prepared statements. No other client's are called so: a pooler may mix
  /// them up.
  const std::string prefix_ = "doclock_" + ToText(NewUuid()) + "_";
  std::size_t names_ = 0;
};

}  // namespace doclock::postgresql
