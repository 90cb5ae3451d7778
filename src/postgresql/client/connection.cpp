#include "postgresql/client/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "platform/fork_generation.h"
#include "platform/standard_numbers.h"

namespace doclock::postgresql {
namespace {

using namespace std::chrono_literals;

constexpr auto kBegin = &Fixed<[] { return "BEGIN"; }>;
constexpr auto kFloor = &Fixed<[] { return "SELECT set_config('doclock.floor', $1, false)"; }>;
/// Both: a statement that waits behind another one waits more than once, and a lock_timeout is for
/// each time.
std::string Timeouts(const std::string& local) {
  return "set_config('lock_timeout', $1, " + local + "), set_config('statement_timeout', $2, " +
         local + ")";
}
constexpr auto kTimeouts = &Fixed<[] { return "SELECT " + Timeouts("false"); }>;
constexpr auto kTimeoutsOfRest = &Fixed<[] { return "SELECT " + Timeouts("true"); }>;

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
         set("exit_on_error", "'off'") + ", " +    // else a refused value would end the session
         set("statement_timeout", "'0'") + ", " +  // but for LimitWaits
         set("idle_session_timeout", "'0'") + ", " +
         set("client_min_messages", "'warning'");  // those of a commit that no standby has
}
constexpr auto kSession = &Fixed<[] { return Settings("false"); }>;
/// A statement that waits for a row ends with its client, where the server can see that.
constexpr auto kCheckClient =
    &Fixed<[] { return "SELECT set_config('client_connection_check_interval', '500ms', false)"; }>;
/// Behind a pooler each transaction begins with one of these.
constexpr auto kTransaction = &Fixed<[] {
  return Settings("true") + ", " + Timeouts("true") + ", set_config('doclock.floor', $3, true)";
}>;
/// Fails on another server, and on one that was started anew.
constexpr auto kTransactionOnSameProcess = &Fixed<[] {
  return kTransaction().sql + ", 1 / CASE WHEN $4 = " + ThisProcess() + " THEN 1 ELSE 0 END";
}>;

/// Values for Timeouts. A wait that ends by the first one is known to be one.
Parameters TimeoutsOf(std::chrono::milliseconds most, bool briefly) {
  const auto wait = std::max(std::min(most - most / 16, briefly ? kMoment : most), 1ms);
  return Parameters()
      .Text(std::to_string(wait.count()) + "ms")
      .Text(std::to_string(most.count()) + "ms");
}

/// Since version 17.
constexpr auto kNoTransactionTimeout =
    &Fixed<[] { return "SELECT set_config('transaction_timeout', '0', false)"; }>;

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

/// The SQLSTATE at the end of what libpq says of a connection (PQERRORS_SQLSTATE); empty if the
/// server did not refuse it.
std::string_view StateIn(std::string_view message) {
  message = message.substr(0, message.find_last_not_of(" \n") + 1);
  if (message.size() < 6) return {};
  const std::string_view state = message.substr(message.size() - 5);
  const bool is_state =
      message[message.size() - 6] == ' ' &&
      state.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == state.npos &&
      state.find_first_of("0123456789") != state.npos;
  return is_state ? state : std::string_view();
}

/// Why the server refuses a connection, for as long as it is not changed; null: that may pass.
const char* ReasonOf(std::string_view state) {
  if (state == "3D000") return "the database does not exist";
  if (state == "28P01") return "the password is wrong, or the role does not exist";
  if (state.starts_with("28")) return "the role does not exist, or pg_hba.conf does not let it in";
  if (state == "42501") return "the role may not connect to the database";
  static constexpr std::string_view kOfSettings[] = {"22023", "42601", "42704", "55P02"};
  if (std::ranges::find(kOfSettings, state) != std::end(kOfSettings)) {
    return "it does not know a setting that options (or PGOPTIONS) gives, or does not take its "
           "value";
  }
  return nullptr;
}

/// What the system said of the connection, as ": Connection refused"; empty if nothing known. The
/// rest of the message names hosts and roles.
std::string SystemErrorIn(std::string_view message) {
  for (const int code : {ECONNREFUSED, ENOENT, EACCES, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH,
                         ECONNRESET, EMFILE, ENFILE}) {
    const std::string text = std::generic_category().message(code);
    if (message.find(text) != message.npos) return ": " + text;
  }
  return {};
}

int MillisecondsUntil(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<long long>(left.count(), 0, 1'000'000));
}

/// Of a call with this deadline.
std::chrono::milliseconds LongestStatement(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::clamp<std::chrono::milliseconds>(left - left / 8, 1ms, 24h);
}

std::string_view FieldOf(const Result& result, int field) {
  const char* const text = PQresultErrorField(result.get(), field);
  return text == nullptr ? std::string_view() : text;
}

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

/// The option of the URL, or of libpq's environment, whose value libpq does not know; null: it does
/// not say so, or not in English. Its message has the value too, which may be a part of a password.
const char* RefusedOption(std::string_view message) {
  static constexpr std::array kOptions{"sslmode",
                                       "port",
                                       "channel_binding",
                                       "gssencmode",
                                       "ssl_min_protocol_version",
                                       "require_auth",
                                       "ssl_max_protocol_version",
                                       "sslcertmode",
                                       "keepalives",
                                       "keepalives_idle",
                                       "keepalives_interval",
                                       "keepalives_count",
                                       "tcp_user_timeout"};
  const auto is_refused = [&](const std::string& option) {
    return message.find("invalid " + option) != message.npos ||
           message.find("connection option \"" + option + "\"") != message.npos;
  };
  if (message.find("parse network address") != message.npos) return "hostaddr";
  if (message.find("definition of service") != message.npos) return "service";
  if (message.find("SSL protocol version range") != message.npos) return "ssl_min_protocol_version";
  const auto* const found = std::ranges::find_if(kOptions, is_refused);
  return found == kOptions.end() ? nullptr : *found;
}

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
      if (!told || told->for_good || !loss.for_good) told = loss;
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
  // Of two values of one name the later one counts, those of the URL among them; an empty one does
  // not.
  const std::array names{"sslmode",
                         "dbname",
                         "host",
                         "hostaddr",
                         "port",
                         "client_encoding",
                         "fallback_application_name",
                         "target_session_attrs",
                         static_cast<const char*>(nullptr)};
  const std::array values{url.verifies ? "verify-full" : "",
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
  HearWarnings();  // libpq would print them
  PQsetErrorVerbosity(connection_, PQERRORS_SQLSTATE);
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
  const char* why = ReasonOf(state);
  if (PQconnectionNeedsPassword(connection_) != 0) why = "it wants a password";
  const char* const standby = PQparameterStatus(connection_, "in_hot_standby");
  if (standby != nullptr && std::string_view(standby) == "on") {
    if (!alone) Lose("no host takes writes: one is a standby");  // which may be promoted
    why = "it is a standby";
  }
  const char* const option = state.empty() ? RefusedOption(message) : nullptr;
  const bool broke = mentions("SYSCALL") || mentions("EOF") || mentions("closed unexpectedly");
  if (state.empty() && option == nullptr && !broke &&
      (mentions("SSL") || mentions("certificate"))) {
    why =
        "TLS: the certificate is not trusted or not for this host, or one side has no TLS "
        "(sslmode is verify-full to other hosts, unless the URL says otherwise)";
  }
  if (why == nullptr && option == nullptr) {
    const std::string what = mentions("translate host name") ? "the name of the host is not known"
                                                             : "the connection cannot be made";
    Lose(what +
         (state.empty() ? SystemErrorIn(message) : " (SQLSTATE " + std::string(state) + ")"));
  }
  Loss loss(why != nullptr
                ? std::string("the server refuses the connection: ") + why
                : std::string("the value of ") + option + " is not one that libpq takes");
  loss.for_good = true;
  throw loss;
}

template <class F>
std::vector<Result> Connection::RunAtFirst(const F& send, Deadline deadline) {
  for (;;) {
    send();
    try {
      return Run(deadline);
    } catch (const Refusal& refusal) {
      if (refusal.state != "57014") throw;
    }
  }
}

void Connection::HearWarnings() noexcept {
  const auto hear = [](void* self, const PGresult* notice) {
    const char* const function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
    if (function != nullptr && std::string_view(function) == "SyncRepWaitForLSN") {
      static_cast<Connection*>(self)->unreplicated_ = true;
    }
  };
  PQsetNoticeReceiver(connection_, hear, this);
}

void Connection::Lose(const std::string& text, bool nothing_done) {
  lost_ = true;
  Loss loss(text);
  loss.nothing_done = nothing_done;
  throw loss;
}

bool Connection::KeepsItsSession(const Url& url, Deadline deadline) {
  const std::string payload = ToText(NewUuid());
  const auto ask = [&] { SendOnce("SELECT pg_backend_pid()"); };
  const std::int64_t session = RunAtFirst(ask, deadline).back().Number(0, 0);
  if (session == backend()) return true;
  SendOnce("LISTEN doclock_pooler");
  SendOnce("SELECT pg_backend_pid()");
  const std::int64_t listens = Run(deadline).back().Number(0, 0);
  Connection other(url, deadline);
  other.SendOnce("SELECT pg_notify('doclock_pooler', $1), pg_backend_pid()",
                 Parameters().Text(payload));
  const bool keeps = session == listens && other.Run(deadline).back().Number(0, 1) != session &&
                     Receives(payload, std::min(deadline, std::chrono::steady_clock::now() + 1s));
  Unlisten(listens, deadline);
  return keeps;
}

void Connection::Unlisten(std::int64_t session, Deadline deadline) {
  constexpr int kMostTries = 8;  // a pooler has other sessions for other transactions
  for (int i = 0; i < kMostTries; ++i) {
    SendOnce("UNLISTEN doclock_pooler");
    SendOnce("SELECT pg_backend_pid()");
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
  RunAtFirst([&] { Send(kSession()); }, deadline);
  SendUnlessOlder();
}

void Connection::SendUnlessOlder() {
  Send(kCheckClient());
  RunUnheard();
  if (PQserverVersion(connection_) < 170000) return;
  Send(kNoTransactionTimeout());
  RunUnheard();
}

void Connection::Begin() {
  if (!shares_sessions_) {
    Send(kBegin());
    return;
  }
  SendOnce("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
  Parameters values = TimeoutsOf(longest_statement_, waits_briefly_);
  values.Text(std::to_string(floor()));
  const bool is_known = epoch_ && !epoch_->process.empty();
  if (is_known) values.Text(epoch_->process);
  SendOnce((is_known ? kTransactionOnSameProcess() : kTransaction()).sql, values);
  sent_.back().kind = Sent::Kind::kSettings;
}

std::size_t Connection::Send(const Statement& statement, const Parameters& parameters) {
  const InStep guard(lost_);
  if (shares_sessions_) return SendOnce(statement.sql, parameters);
  const auto [prepared, is_new] = prepared_.try_emplace(&statement);
  if (is_new) {
    prepared->second = prefix_ + std::to_string(++names_);
    const char* const sql = statement.sql.c_str();
    Check(PQsendPrepare(connection_, prepared->second.c_str(), sql, 0, nullptr));
    sent_.push_back({Sent::Kind::kPrepare, &statement});
  }
  const Arrays values(parameters);
  Check(PQsendQueryPrepared(connection_, prepared->second.c_str(), values.size(),
                            values.data.data(), values.lengths.data(), values.formats.data(), 1));
  sent_.push_back({Sent::Kind::kStatement, &statement});
  return queued_++;
}

std::size_t Connection::SendOnce(const std::string& sql, const Parameters& parameters) {
  const InStep guard(lost_);
  const Arrays values(parameters);
  Check(PQsendQueryParams(connection_, sql.c_str(), values.size(), nullptr, values.data.data(),
                          values.lengths.data(), values.formats.data(), 1));
  sent_.push_back({Sent::Kind::kStatement});
  return queued_++;
}

void Connection::Sync() {
  Check(PQpipelineSync(connection_));
  sent_.push_back({Sent::Kind::kSync});
  queued_ = 0;
}

bool Connection::Flush() {
  const int left = PQflush(connection_);
  if (left < 0) Lose("the connection broke");
  return left == 0;
}

std::vector<Result> Connection::Run(Deadline deadline) {
  std::vector<Refusal> refusals;
  std::vector<Result> results = HearAll(deadline, refusals);
  if (!refusals.empty()) throw refusals.front();
  return results;
}

std::vector<Result> Connection::HearAll(Deadline deadline, std::vector<Refusal>& refusals) {
  const InStep guard(lost_);
  unreplicated_ = false;
  Sync();
  while (!Flush()) {
    // The server may have to be heard before it hears more.
    WaitFor(POLLIN | POLLOUT, deadline);
    Check(PQconsumeInput(connection_));
  }
  std::vector<Result> results;
  while (!sent_.empty()) {
    const bool unheard = sent_.front().kind == Sent::Kind::kSync && sent_.size() > 1;
    if (!Hear(sent_.front(), Next(deadline), results, refusals)) continue;
    sent_.pop_front();
    if (!unheard) continue;
    results.clear();
    refusals.clear();
    unreplicated_ = false;
  }
  return results;
}

void Connection::RunAndCommit(Deadline deadline) {
  SendOnce("COMMIT");
  try {
    Run(deadline);
  } catch (const Refusal&) {
    SendOnce("ROLLBACK");
    RunUnheard();
    throw;
  }
}

void Connection::RunUnheard() noexcept {
  try {
    Sync();
    // A socket that takes no more ends the session, and the transaction with it.
    if (!Flush()) lost_ = true;
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

void Connection::LimitWaits(Deadline deadline, bool briefly) {
  const auto most = LongestStatement(deadline);
  // Most calls have the same time: the limit of the one before is good enough.
  const bool fits = longest_statement_ <= most && longest_statement_ >= most - most / 8;
  if (fits && longest_statement_.count() > 0 && waits_briefly_ == briefly) return;
  longest_statement_ = most;
  waits_briefly_ = briefly;
  if (shares_sessions_) return;
  Send(kTimeouts(), TimeoutsOf(most, briefly));
  sent_.back().kind = Sent::Kind::kLimits;
  RunUnheard();
}

void Connection::LimitRest(Deadline deadline, bool briefly) {
  Send(kTimeoutsOfRest(), TimeoutsOf(LongestStatement(deadline), briefly));
}

bool Connection::LimitPatience(Deadline patience) {
  if (std::chrono::steady_clock::now() + longest_statement_ <= patience) return false;
  const std::chrono::milliseconds least(2);  // zero would be no limit
  const std::chrono::milliseconds left(MillisecondsUntil(patience));
  Send(kTimeoutsOfRest(), TimeoutsOf(std::max(left, least), false));
  return true;
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
    if (PGresult* const result = PQgetResult(connection_)) return Result(result);
  }
  Lose("the connection broke");
}

bool Connection::Hear(const Sent& sent, Result result, std::vector<Result>& results,
                      std::vector<Refusal>& refusals) {
  switch (PQresultStatus(result.get())) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
      if (sent.kind != Sent::Kind::kPrepare) results.push_back(std::move(result));
      return true;
    case PGRES_PIPELINE_SYNC:
      if (sent.kind != Sent::Kind::kSync) Lose("the connection broke");
      return true;
    case PGRES_PIPELINE_ABORTED:
      break;
    default: {
      const std::string_view state = FieldOf(result, PG_DIAG_SQLSTATE);
      // Others end the session. (25P03, 57P05: it was idle for too long.)
      if (FieldOf(result, PG_DIAG_SEVERITY_NONLOCALIZED) != "ERROR") {
        Lose(state.empty() ? "the connection broke"
                           : "the server ended the session (SQLSTATE " + std::string(state) + ")",
             state == "25P03" || state == "57P05");
      }
      if (sent.kind == Sent::Kind::kSettings) {
        // A session that was not made this library's again may have executed more.
        Lose(shares_sessions_ ? "a pooler has another server behind it than before, or one that "
                                "refuses settings"
                              : "the session of joined work cannot be used again",
             shares_sessions_);
      }
      Refusal refusal;
      refusal.state = state;
      refusal.constraint = FieldOf(result, PG_DIAG_CONSTRAINT_NAME);
      refusal.place = results.size();  // all before it have one
      // Somebody deallocated it: the next call prepares it anew.
      if (state == "26000" && sent.statement != nullptr) prepared_.erase(sent.statement);
      refusals.push_back(std::move(refusal));
    }
  }
  if (sent.kind == Sent::Kind::kPrepare) prepared_.erase(sent.statement);
  if (sent.kind == Sent::Kind::kLimits) longest_statement_ = {};  // the next call sets them
  return sent.kind != Sent::Kind::kSync;  // of which the answer follows the failure of a commit
}

bool Connection::IsIdle() noexcept {
  if (lost_ || queued_ > 0) return false;  // what is queued is of a call that failed
  try {
    // The answers that were left have mostly come. The second call meets the end behind a last
    // word.
    if (PQconsumeInput(connection_) != 1 || PQconsumeInput(connection_) != 1) return false;
    std::vector<Result> ignored;
    std::vector<Refusal> refusals;
    while (!sent_.empty() && PQisBusy(connection_) == 0) {
      if (Hear(sent_.front(), Next(Deadline{}), ignored, refusals)) sent_.pop_front();
    }
    // The ROLLBACK of a call may have been refused.
    const bool ended = PQtransactionStatus(connection_) != PQTRANS_INERROR;
    return ended && PQstatus(connection_) == CONNECTION_OK;
  } catch (const std::exception&) {
    return false;
  }
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
  HearWarnings();
}

void Connection::RenewSession() {
  if (!was_lent_) return;
  SendOnce("SET statement_timeout = 0");  // whoever had it may have set a short one
  RunUnheard();
  SendOnce("DISCARD ALL");
  sent_.back().kind = Sent::Kind::kSettings;
  RunUnheard();
  prepared_.clear();
  longest_statement_ = {};
  epoch_.reset();
  was_lent_ = false;
  SendOnce(kSession().sql);
  sent_.back().kind = Sent::Kind::kSettings;
  RunUnheard();
  SendUnlessOlder();
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
