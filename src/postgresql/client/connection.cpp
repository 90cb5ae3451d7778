#include "postgresql/client/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "platform/fork_generation.h"
#include "platform/plain_numbers.h"
#include "platform/standard_numbers.h"

namespace doclock::postgresql {
namespace {

using namespace std::chrono_literals;

constexpr auto kBegin = &Fixed<[] { return "BEGIN"; }>;
constexpr auto kBeginSnapshot =
    &Fixed<[] { return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"; }>;
constexpr auto kCommit = &Fixed<[] { return "COMMIT"; }>;
constexpr auto kRollback = &Fixed<[] { return "ROLLBACK"; }>;
std::string AsksForBackend() { return "SELECT pg_backend_pid() WHERE " + std::string(kByPrimary); }
constexpr auto kProof = &Fixed<[] { return "SELECT $1::int8"; }>;
constexpr auto kFloor = &Fixed<[] { return "SELECT set_config('doclock.floor', $1, false)"; }>;

/// What a role or a database sets otherwise would break: units that wait for a row go on with what
/// they find then; an acknowledged lock is on the disk; and a client that is stopped does not keep
/// documents. @param local "true": until the end of the transaction
std::string Settings(const std::string& local) {
  const auto set = [&](const std::string& name, const std::string& value) {
    return "set_config('" + name + "', " + value + ", " + local + ")";
  };
  return "SELECT " + set("default_transaction_isolation", "'read committed'") + ", " +
         set("default_transaction_read_only", "'off'") + ", " +
         set("synchronous_commit", std::string(kDurableCommit)) + ", " +
         set("idle_in_transaction_session_timeout", "'30s'") + ", " +
         set("exit_on_error", "'off'") + ", " +  // else a refused value would end the session
         set("lock_timeout", std::string(kLockTimeout)) + ", " + set("statement_timeout", "'0'") +
         ", " + set("idle_session_timeout", "'0'") + ", " +
         set("client_min_messages", "'warning'");  // those of a commit that no standby has
}
/// (transaction_timeout is of version 17.)
constexpr auto kSession = &Fixed<[] {
  return Settings("false") +
         ", CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL"
         " THEN set_config('transaction_timeout', '0', false) END";
}>;
/// A statement that waits for a row ends with its client, where the server can see that.
constexpr auto kCheckClient =
    &Fixed<[] { return "SELECT set_config('client_connection_check_interval', '500ms', false)"; }>;
/// Behind a pooler each transaction begins with one of these.
constexpr auto kTransaction =
    &Fixed<[] { return Settings("true") + ", set_config('doclock.floor', $1, true)"; }>;
/// Fails on another server, and on one that was started anew.
constexpr auto kTransactionOnSameProcess = &Fixed<[] {
  return kTransaction().sql + ", 1 / CASE WHEN $2 = " + ThisProcess() + " THEN 1 ELSE 0 END";
}>;

/// While an exception leaves its scope, the connection is out of step with the server.
class InStep {
 public:
  explicit InStep(bool& lost) noexcept : lost_(lost) {}
  InStep(const InStep&) = delete;
  InStep& operator=(const InStep&) = delete;
  ~InStep() {
    if (std::uncaught_exceptions() > before_) lost_ = true;
  }

 private:
  bool& lost_;
  const int before_ = std::uncaught_exceptions();
};

/// The SQLSTATE in what libpq says of a connection (PQERRORS_VERBOSE: "FATAL:  28P01: ..."); empty
/// if the server did not refuse it.
std::string_view StateIn(std::string_view message) {
  constexpr std::size_t kSize = 5;
  for (std::size_t at = 0; (at = message.find(":  ", at)) != message.npos;) {
    const std::string_view rest = message.substr(at += 3);
    const std::string_view state = rest.substr(0, kSize);
    const bool is_state =
        rest.substr(state.size()).starts_with(": ") && state.size() == kSize &&
        state.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == state.npos;
    if (is_state) return state;
  }
  return {};
}

int MillisecondsUntil(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<long long>(left.count(), 0, 1'000'000));
}

std::string_view FieldOf(const Result& result, int field) {
  const char* const text = PQresultErrorField(result.get(), field);
  return text == nullptr ? std::string_view() : text;
}

/// The command, which the answer to it repeats.
std::string CommandOf(const std::string& sql) { return sql.substr(0, sql.find_first_of(" (")); }

/// A statement's values as libpq takes them.
struct Arrays {
  explicit Arrays(const Parameters& parameters) {
    data.reserve(parameters.values().size());
    lengths.reserve(parameters.values().size());
    for (const auto& value : parameters.values()) {
      data.push_back(value ? value->data() : nullptr);
      lengths.push_back(value ? static_cast<int>(value->size()) : 0);
    }
    formats.resize(data.size(), 1);
  }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(data.size()); }

  std::vector<const char*> data;
  std::vector<int> lengths, formats;
};

}  // namespace

Connection::Connection(const Url& url, Deadline deadline, std::size_t first_host)
    : generation_(platform::ForkGeneration()), host_(first_host) {
  const platform::StandardNumbersTaken taken;  // no socket gets the number of a closed 0 to 2
  std::optional<Loss> told;                    // one that may pass counts more than one for good
  for (std::size_t left = url.hosts.size(); connection_ == nullptr; --left) {
    const auto now = std::chrono::steady_clock::now();
    const auto share = (deadline - now) / static_cast<int>(left);
    try {
      host_ = (first_host + url.hosts.size() - left) % url.hosts.size();
      Connect(url, url.hosts[host_], now + share);
    } catch (const Loss& loss) {
      PQfinish(std::exchange(connection_, nullptr));
      const auto rank = [](const Loss& one) { return one.for_good ? one.may_pass ? 1 : 2 : 0; };
      if (!told || rank(loss) <= rank(*told)) told = loss;
      if (left == 1) throw Loss(*told);
      lost_ = false;
    } catch (...) {
      PQfinish(std::exchange(connection_, nullptr));
      throw;
    }
  }
}

Connection::~Connection() {
  // PQfinish would end the session, which is the parent's.
  if (generation_ == platform::ForkGeneration()) PQfinish(connection_);
}

void Connection::Connect(const Url& url, const Host& host, Deadline deadline) {
  const platform::PlainNumbers english;  // what libpq says is known in English only
  // The later one of two values of one name counts, those of the URL among them; an empty one does
  // not.
  const std::array names{"sslmode",
                         "sslpassword",
                         "dbname",
                         "host",
                         "hostaddr",
                         "port",
                         "client_encoding",
                         "fallback_application_name",
                         "target_session_attrs",
                         static_cast<const char*>(nullptr)};
  const std::array values{url.verifies ? "verify-full" : "",
                          " ",  // without one OpenSSL asks at the terminal
                          url.text.c_str(),
                          host.name.c_str(),
                          host.address.c_str(),
                          host.port.c_str(),
                          "UTF8",
                          "doclock",
                          "primary",
                          static_cast<const char*>(nullptr)};
  connection_ = PQconnectStartParams(names.data(), values.data(), 1);
  if (connection_ == nullptr) throw std::bad_alloc();
  HearNotices();  // libpq would print them
  PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);
  const bool alone = url.hosts.size() == 1;
  if (PQstatus(connection_) == CONNECTION_BAD) RefuseConnection(alone);
  for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;) {
    if (state == PGRES_POLLING_FAILED) RefuseConnection(alone);
    WaitFor(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline);
    state = PQconnectPoll(connection_);
  }
  PQsetErrorVerbosity(connection_, PQERRORS_DEFAULT);  // for joined work
  if (PQsetnonblocking(connection_, 1) != 0) Lose("the connection broke");
  Check(PQenterPipelineMode(connection_));
}

void Connection::RefuseConnection(bool alone) {
  const std::string_view message = PQerrorMessage(connection_);
  const std::string_view state = StateIn(message);
  const auto mentions = [&](const char* word) { return message.find(word) != message.npos; };
  // libpq quotes values of options before it has a host and a port, and they may be a part of a
  // password.
  const bool names_host = message.starts_with("connection to server");
  const bool is_value =
      state.empty() &&
      (mentions("invalid integer value") ||
       (!names_host && (mentions("invalid ") || mentions("parse network address") ||
                        mentions("definition of service"))));
  Loss loss(names_host ? std::string(message.substr(0, message.find('\n')))
            : is_value ? "libpq does not take the value of an option"
                       : "the connection cannot be made");
  const char* const why = state.empty() ? LastingReasonOfLibpq(message) : nullptr;
  if (why != nullptr) loss.text += std::string(": ") + why;
  const bool broke = mentions("SYSCALL") || mentions("EOF") || mentions("unexpected eof") ||
                     mentions("closed unexpectedly");
  const bool is_tls = state.empty() && !broke && (mentions("SSL") || mentions("certificate"));
  const bool is_standby = mentions("hot standby mode") || mentions("read-only mode") ||
                          mentions("is not accepting connections");
  // With other hosts it may be promoted.
  loss.for_good = why != nullptr || (!state.empty() && Lasts(state, message)) || is_value ||
                  is_tls || (alone && is_standby) || PQconnectionNeedsPassword(connection_) != 0;
  loss.may_pass = state != "28P01" && !mentions("is not permitted to log in") &&
                  !(state == "28000" && mentions("does not exist"));
  throw loss;
}

template <class F>
std::vector<Result> Connection::RunAtFirst(const F& send, Deadline deadline) {
  for (;;) {
    send();
    Answers answers = RunUnproved(deadline);
    const bool again = answers.refusal && answers.refusal->state == "57014";
    if (!again) return Proved(std::move(answers));
  }
}

void Connection::HearNotices() noexcept {
  const auto hear = [](void* self, const PGresult* notice) {
    auto& connection = *static_cast<Connection*>(self);
    const auto field = [&](int which) {
      const char* const text = PQresultErrorField(notice, which);
      return std::string_view(text == nullptr ? "" : text);
    };
    if (field(PG_DIAG_SOURCE_FUNCTION) == "SyncRepWaitForLSN") connection.unreplicated_ = true;
    // An error that answers nothing; or libpq's own word: it passed over what answers nothing.
    const std::string_view severity = field(PG_DIAG_SEVERITY);
    const bool is_servers = !field(PG_DIAG_SQLSTATE).empty();
    if (!is_servers || severity == "ERROR" || severity == "FATAL") connection.lost_ = true;
  };
  PQsetNoticeReceiver(connection_, hear, this);
}

std::int64_t RandomNumber() {
  const Uuid id = NewUuid();
  std::int64_t number = 0;
  std::memcpy(&number, id.data, sizeof number);
  return number & (INT64_MAX >> 1);
}

void Connection::Lose(const std::string& text, bool nothing_done) {
  lost_ = true;
  Loss loss(text);
  loss.nothing_done = nothing_done;
  throw loss;
}

bool Connection::KeepsItsSession(const Url& url, Deadline deadline) {
  const std::string payload = ToText(NewUuid());
  const auto ask = [&] { SendOnce(AsksForBackend()); };
  const std::int64_t session = RunAtFirst(ask, deadline).back().Number(0, 0);
  if (session == backend()) return true;
  RequireSearchPath(deadline);
  // One that takes no transactions ends the connection, and says why.
  Queue(Kind::kControl, kBegin(), {});
  Run(deadline);
  RunAndRollback(deadline);
  Command("LISTEN doclock_pooler");
  SendOnce(AsksForBackend());
  const std::int64_t listens = Run(deadline).back().Number(0, 0);
  std::optional<Connection> second;
  try {
    second.emplace(url, deadline);
  } catch (Loss& loss) {
    if (!loss.for_good) loss.text += " (a pooler has to give a client two sessions at once)";
    throw;
  }
  Connection& other = *second;
  other.SendOnce("SELECT pg_notify('doclock_pooler', $1), pg_backend_pid()",
                 Parameters().Text(payload));
  const bool keeps = session == listens && other.Run(deadline).back().Number(0, 1) != session &&
                     Receives(payload, std::min(deadline, std::chrono::steady_clock::now() + 1s));
  Unlisten(listens, deadline);
  return keeps;
}

void Connection::RequireSearchPath(Deadline deadline) {
  const std::string options = PQoptions(connection_);
  std::string names = options;  // the server takes -c search-path= and --SEARCH_PATH= too
  for (char& c : names) {
    if (c == '-') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (names.find("search_path") == names.npos) return;
  // A pooler that passes it on may do so by SET, or not, if it is the session's anyway. In options
  // a blank in a value stands behind a backslash.
  SendOnce(
      R"(SELECT source = 'client' OR strpos(replace($1, '\ ', '') || ' ',
           '=' || replace(setting, ' ', '') || ' ') > 0
         FROM pg_settings WHERE name = 'search_path' AND )" +
          std::string(kByPrimary),
      Parameters().Text(options));
  if (Run(deadline).back().Number(0, 0) != 0) return;
  lost_ = true;
  Loss loss(
      "the pooler ignores the search_path in options (of pgbouncer: ignore_startup_parameters), so "
      "that the tables would be in another schema: take options out of the URL, and name the "
      "schema by ALTER ROLE ... SET search_path");
  loss.for_good = true;
  throw loss;
}

void Connection::Unlisten(std::int64_t session, Deadline deadline) {
  constexpr int kMostTries = 8;  // a pooler has other sessions for other transactions
  for (int i = 0; i < kMostTries; ++i) {
    Command("UNLISTEN doclock_pooler");
    SendOnce(AsksForBackend());
    if (Run(deadline).back().Number(0, 0) == session) break;
  }
  TakeNotifications();
}

bool Connection::Receives(const std::string& payload, Deadline deadline) {
  for (;;) {
    for (const Notification& one : TakeNotifications()) {
      if (one.payload == payload) return true;
    }
    pollfd wait{socket(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, MillisecondsUntil(deadline));
    if (ready == 0) return false;
    if (ready < 0 && errno != EINTR) Lose("the connection broke");
  }
}

void Connection::SetUp(Deadline deadline) {
  if (shares_sessions_) return;
  prepares_ = true;
  RunAtFirst([&] { Send(kSession()); }, deadline);
  WatchClient(deadline);
}

void Connection::WatchClient(Deadline deadline) {
  Send(kCheckClient());
  try {
    Run(deadline);
  } catch (const Refusal&) {  // not every system can
  }
}

void Connection::Begin() {
  if (!shares_sessions_) return Queue(Kind::kControl, kBegin(), {});
  QueueOnce(Kind::kControl, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", {});
  QueueProof();
  Parameters values;
  values.Text(std::to_string(floor()));
  const bool is_known = epoch_ && !epoch_->process.empty();
  if (is_known) values.Text(epoch_->process);
  QueueOnce(Kind::kSettings, (is_known ? kTransactionOnSameProcess() : kTransaction()).sql, values);
}

void Connection::BeginSnapshot() { Queue(Kind::kControl, kBeginSnapshot(), {}); }

void Connection::LimitLockWaits(std::chrono::milliseconds most) {
  QueueOnce(Kind::kControl, "SET LOCAL lock_timeout = " + std::to_string(most.count()), {});
}

void Connection::Commit() { Queue(Kind::kControl, kCommit(), {}); }

void Connection::Rollback() { Queue(Kind::kControl, kRollback(), {}); }

std::size_t Connection::Send(const Statement& statement, const Parameters& parameters) {
  QueueProof();
  Queue(Kind::kRows, statement, parameters);
  return queued_++;
}

std::size_t Connection::SendOnce(const std::string& sql, const Parameters& parameters) {
  QueueProof();
  QueueOnce(Kind::kRows, sql, parameters);
  return queued_++;
}

std::size_t Connection::Command(const std::string& sql, const Parameters& parameters) {
  QueueProof();
  QueueOnce(Kind::kCommand, sql, parameters);
  return queued_++;
}

void Connection::QueueProof() {
  if (std::exchange(has_proof_, true)) return;
  Queue(Kind::kProof, kProof(), Parameters().Int8(++proof_));
}

void Connection::Queue(Kind kind, const Statement& statement, const Parameters& parameters) {
  if (!prepares_) return QueueOnce(kind, statement.sql, parameters);
  const InStep guard(lost_);
  const auto [prepared, is_new] = prepared_.try_emplace(&statement);
  if (is_new) {
    prepared->second = prefix_ + std::to_string(++names_);
    const char* const sql = statement.sql.c_str();
    Check(PQsendPrepare(connection_, prepared->second.c_str(), sql, 0, nullptr));
    sent_.push_back({Kind::kPrepare, &statement});
  }
  const Arrays values(parameters);
  Check(PQsendQueryPrepared(connection_, prepared->second.c_str(), values.size(),
                            values.data.data(), values.lengths.data(), values.formats.data(), 1));
  sent_.push_back({kind, &statement, CommandOf(statement.sql)});
}

void Connection::QueueOnce(Kind kind, const std::string& sql, const Parameters& parameters) {
  const InStep guard(lost_);
  const Arrays values(parameters);
  Check(PQsendQueryParams(connection_, sql.c_str(), values.size(), nullptr, values.data.data(),
                          values.lengths.data(), values.formats.data(), 1));
  sent_.push_back({kind, nullptr, CommandOf(sql)});
}

void Connection::Sync() {
  QueueProof();
  Check(PQpipelineSync(connection_));
  sent_.push_back({Kind::kSync});
  queued_ = 0;
  has_proof_ = false;
}

bool Connection::Flush() {
  const int left = PQflush(connection_);
  if (left < 0) Lose("the connection broke");
  return left == 0;
}

std::vector<Result> Connection::Run(Deadline deadline) { return Proved(RunUnproved(deadline)); }

std::vector<Result> Connection::Proved(Answers answers) {
  if (!answers.is_proved) {
    const std::string state = answers.refusal ? answers.refusal->state : "";
    lost_ = true;
    Loss loss("the server did not say whose answer it gave" +
              (state.empty() ? "" : " (SQLSTATE " + state + ")"));
    // The proof itself is no longer prepared in the session.
    loss.for_good = state == kNotPrepared;
    if (loss.for_good) loss.text += kOtherSession;
    throw loss;
  }
  if (answers.refusal) throw Refusal(*std::move(answers.refusal));
  return std::move(answers.results);
}

Connection::Answers Connection::RunUnproved(Deadline deadline) {
  const InStep guard(lost_);
  unreplicated_ = false;
  Sync();
  while (!Flush()) {
    // The server may have to be heard before it hears more.
    WaitFor(POLLIN | POLLOUT, deadline);
    Check(PQconsumeInput(connection_));
  }
  Answers answers;
  while (!sent_.empty()) {
    if (Hear(sent_.front(), Next(deadline), answers)) sent_.pop_front();
  }
  if (lost_) Lose("an answer came to what was not asked");
  return answers;
}

void Connection::RunAndCommit(Deadline deadline) {
  Commit();
  try {
    Run(deadline);
  } catch (const Refusal&) {
    RunAndRollback(deadline);
    throw;
  }
}

void Connection::RunAndRollback(Deadline deadline) noexcept {
  try {
    Rollback();
    Run(deadline);
  } catch (const std::exception&) {
    lost_ = true;
  }
}

void Connection::SetEpoch(Epoch epoch, Deadline deadline) {
  if (!shares_sessions_) {
    Send(kFloor(), Parameters().Text(std::to_string(epoch.floor)));
    Run(deadline);
  }
  epoch_ = std::move(epoch);
}

void Connection::WaitFor(short events, Deadline deadline) {
  for (;;) {
    pollfd wait{PQsocket(connection_), events, 0};
    const int ready = ::poll(&wait, 1, MillisecondsUntil(deadline));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) Lose("the connection broke");
    if (ready == 0 && std::chrono::steady_clock::now() >= deadline) {
      Lose("the server did not answer in time");
    }
  }
}

Result Connection::Next(Deadline deadline) {
  // A null stands behind the answer to each statement.
  for (int nulls = 0; nulls < 2; ++nulls) {
    while (PQisBusy(connection_) != 0) {
      WaitFor(POLLIN, deadline);
      Check(PQconsumeInput(connection_));
    }
    Result result(PQgetResult(connection_));
    if (result.get() != nullptr) return result;
  }
  Lose("the connection broke");
}

bool Connection::Hear(const Sent& sent, Result result, Answers& answers) {
  switch (PQresultStatus(result.get())) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
      HearGood(sent, std::move(result), answers);
      return true;
    case PGRES_PIPELINE_SYNC:
      if (sent.kind != Kind::kSync) LoseStep();
      return true;
    case PGRES_PIPELINE_ABORTED:
      if (!answers.refusal) LoseStep();
      break;
    default:
      HearRefusal(sent, result, answers);
  }
  if (sent.kind == Kind::kPrepare) prepared_.erase(sent.statement);
  return sent.kind != Kind::kSync;  // of which the answer follows the failure of a commit
}

void Connection::HearGood(const Sent& sent, Result result, Answers& answers) {
  answers.is_begun = true;
  const bool has_rows = PQresultStatus(result.get()) == PGRES_TUPLES_OK;
  switch (sent.kind) {
    case Kind::kPrepare:
      if (has_rows) LoseStep();
      return;
    case Kind::kCommand:
    case Kind::kControl:
      if (has_rows || !result.tag().starts_with(sent.tag)) LoseStep();
      break;
    case Kind::kSync:
      LoseStep();
    default:
      if (!has_rows) LoseStep();
  }
  if (sent.kind == Kind::kProof) {
    if (result.size() != 1 || result.Number(0, 0) != proof_) LoseStep();
    answers.is_proved = true;
  }
  const bool is_wanted = sent.kind == Kind::kRows || sent.kind == Kind::kCommand;
  if (is_wanted) answers.results.push_back(std::move(result));
}

void Connection::HearRefusal(const Sent& sent, const Result& result, Answers& answers) {
  const std::string state(FieldOf(result, PG_DIAG_SQLSTATE));
  // Others end the session. Poolers name the severity once.
  const std::string_view severity = FieldOf(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if ((severity.empty() ? FieldOf(result, PG_DIAG_SEVERITY) : severity) != "ERROR") {
    lost_ = true;
    if (state.empty()) Lose("the connection broke");
    Loss loss("the server ended the session (SQLSTATE " + state + ")");
    // (25P03, 57P05: it was idle for too long.) A pooler may end it in the midst of an answer.
    loss.nothing_done = !answers.is_begun && (state == "25P03" || state == "57P05");
    const std::string_view message = FieldOf(result, PG_DIAG_MESSAGE_PRIMARY);
    // Poolers say what to change. What is about a value may quote it.
    const bool quotes = state.starts_with("22") || state.starts_with("23");
    if (!answers.is_begun && !quotes) loss.text += ": " + std::string(message);
    loss.for_good = Lasts(state, message);
    throw loss;
  }
  if (sent.kind == Kind::kSettings && answers.is_proved) {
    Lose("a pooler has another server behind it than before, or one that refuses settings", true);
  }
  // Another client deallocated it: the next call prepares it anew.
  if (state == kNotPrepared && sent.statement != nullptr) prepared_.erase(sent.statement);
  if (answers.refusal) return;
  Refusal refusal;
  refusal.state = state;
  refusal.constraint = FieldOf(result, PG_DIAG_CONSTRAINT_NAME);
  if (state == "42501") refusal.lacking = FieldOf(result, PG_DIAG_MESSAGE_PRIMARY);
  refusal.place = answers.results.size();  // all before it have one
  answers.refusal = std::move(refusal);
}

void Connection::LoseStep() {
  Lose("an answer is not one to what was asked: does a pooler or a proxy mix up its clients?");
}

bool Connection::IsAtRest() const noexcept {
  return !lost_ && sent_.empty() && PQtransactionStatus(connection_) == PQTRANS_IDLE;
}

bool Connection::IsIdle() noexcept {
  if (!IsAtRest()) return false;
  // The second call meets the end behind a last word.
  if (PQconsumeInput(connection_) != 1 || PQconsumeInput(connection_) != 1) return false;
  static_cast<void>(PQisBusy(connection_));  // looks at what came
  return IsAtRest() && PQstatus(connection_) == CONNECTION_OK;
}

PGconn* Connection::Lend() {
  was_lent_ = !shares_sessions_;
  Check(PQexitPipelineMode(connection_));
  if (PQsetnonblocking(connection_, 0) != 0) Lose("the connection broke");
  return connection_;
}

void Connection::TakeBack() {
  prepared_.clear();  // the statements may be gone
  if (PQtransactionStatus(connection_) == PQTRANS_ACTIVE) Lose("the connection was left in use");
  if (PQsetnonblocking(connection_, 1) != 0) Lose("the connection broke");
  Check(PQenterPipelineMode(connection_));
  HearNotices();
}

void Connection::RenewSession(Deadline deadline) {
  if (!was_lent_) return;
  // Joined work may have set a short one.
  QueueOnce(Kind::kControl, "SET statement_timeout = 0", {});
  Run(deadline);
  QueueOnce(Kind::kControl, "DISCARD ALL", {});
  prepared_.clear();
  epoch_.reset();
  was_lent_ = false;
  Send(kSession());
  Run(deadline);
  WatchClient(deadline);
}

std::vector<Connection::Notification> Connection::TakeNotifications() {
  Check(PQconsumeInput(connection_));
  std::vector<Notification> all;
  while (PGnotify* const one = PQnotifies(connection_)) {
    all.push_back({one->relname, one->extra});
    PQfreemem(one);
  }
  return all;
}

}  // namespace doclock::postgresql
