#include "mongodb/client/server.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "mongodb/client/advice.h"
#include "mongodb/client/privileges.h"
#include "platform/standard_numbers.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// $$NOW in findAndModify, and $literal in pipelines as they are used here.
constexpr int kOldestWireVersion = 13;  // MongoDB 5.0

/// With less time no call gets an answer.
constexpr milliseconds kShortestBound{20};
/// The longest socketTimeoutMS of a borrowed pool.
constexpr milliseconds kLongestBound{60'000};
/// libmongoc looks for a primary this long at a time; Server::Run goes on until its own deadline.
constexpr milliseconds kSelection{200};
/// The pause before a member that is not the primary is asked again, unless the driver finds
/// another.
constexpr milliseconds kRolePause{20};
/// libmongoc's default.
constexpr int kDefaultPoolSize = 100;
/// How late a change stream notices that its server is frozen.
constexpr milliseconds kStreamTimeout{5000};

void InitDriver() {
  static std::once_flag once;
  // Never calls mongoc_cleanup: the program may use the driver itself.
  std::call_once(once, [] { mongoc_init(); });
  // The driver opens sockets at any time, on threads of its own: these numbers stay taken.
  platform::StandardNumbersTaken::ForGood();
}

void CheckDatabase(const std::string& name) {
  constexpr std::size_t kLongest = 63;
  constexpr const char* kRefused = "/\\. \"$";
  if (!name.empty() && name.size() <= kLongest && name.find_first_of(kRefused) == name.npos) return;
  throw std::invalid_argument(
      "doclock: the name of the database must have 1 to 63 bytes, and none of /\\. \"$");
}

/// The URI's own bound where it is shorter.
milliseconds Shorter(const mongoc_uri_t* uri, const char* option, Duration limit) {
  const std::int32_t given = mongoc_uri_get_option_as_int32(uri, option, 0);
  return given > 0 ? std::min(milliseconds(given), limit.ms()) : limit.ms();
}

[[noreturn]] void RefuseToOpen(const std::string& why) {
  throw StoreException(Errc::kRefused, "doclock: MongoDB: " + why);
}

/// Certificates and keys are smaller.
constexpr std::size_t kMostOfFile = std::size_t{16} << 20U;

/// Checks the files of the TLS options. The driver would try them again and again without an error,
/// print lines about them, and leave it to OpenSSL to ask the terminal for a password.
void CheckFiles(const mongoc_uri_t* uri) {
  const bool has_password =
      mongoc_uri_get_option_as_utf8(uri, MONGOC_URI_TLSCERTIFICATEKEYFILEPASSWORD, nullptr);
  for (const std::string option : {"tlsCAFile", "tlsCertificateKeyFile"}) {
    const char* const path = mongoc_uri_get_option_as_utf8(uri, option.c_str(), nullptr);
    if (path == nullptr) continue;
    const std::string file = "the file of the URI's option " + option;
    std::error_code error;
    // Reading a pipe would wait for its writer, and leave nothing to the driver.
    const bool regular = std::filesystem::is_regular_file(path, error);
    std::ifstream stream(path);
    if (!regular || !stream) RefuseToOpen(file + " cannot be read, or is no regular file");
    std::string text(kMostOfFile + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (stream || stream.bad()) RefuseToOpen(file + " cannot be read, or is larger than 16 MiB");
    text.resize(static_cast<std::size_t>(stream.gcount()));
    const auto holds = [&](const char* part) { return text.find(part) != text.npos; };
    if (!holds("CERTIFICATE-----")) RefuseToOpen(file + " holds no certificate in PEM's form");
    if (option == "tlsCAFile") continue;
    if (!holds("PRIVATE KEY-----")) RefuseToOpen(file + " holds no private key in PEM's form");
    if (!has_password && (holds("BEGIN ENCRYPTED") || holds("Proc-Type: 4,ENCRYPTED"))) {
      RefuseToOpen(file + " holds an encrypted key: give its password by the option " + option +
                   "Password");
    }
  }
}

/// The URI's servers, for messages.
std::string ServersOf(const mongoc_uri_t* uri) {
  if (const char* const name = mongoc_uri_get_srv_hostname(uri)) return name;
  std::string text;
  for (const auto* host = mongoc_uri_get_hosts(uri); host != nullptr; host = host->next) {
    text += (text.empty() ? "" : ", ") + std::string(host->host_and_port);
  }
  return text;
}

/// Does the driver use the one server of the URI, whatever its role is?
bool IsDirect(const mongoc_uri_t* uri) {
  const auto* const hosts = mongoc_uri_get_hosts(uri);
  const bool one = hosts != nullptr && hosts->next == nullptr;
  return mongoc_uri_get_option_as_bool(uri, MONGOC_URI_DIRECTCONNECTION,
                                       one && mongoc_uri_get_replica_set(uri) == nullptr);
}

/// The properties of a borrowed pool.
struct PoolTraits {
  milliseconds bound;   ///< How long a call may wait for an answer.
  int size;             ///< The number of its connections.
  std::string servers;  ///< As its URI names them.
  bool direct;          ///< See IsDirect.
};

PoolTraits TraitsOf(mongoc_client_pool_t* pool) {
  mongoc_client_t* const client = mongoc_client_pool_pop(pool);
  if (client == nullptr) {
    throw StoreException(Errc::kUnavailable,
                         "doclock: MongoDB: all connections of the pool are in use");
  }
  const mongoc_uri_t* const uri = mongoc_client_get_uri(client);
  const PoolTraits traits{
      milliseconds(mongoc_uri_get_option_as_int32(uri, MONGOC_URI_SOCKETTIMEOUTMS, 0)),
      mongoc_uri_get_option_as_int32(uri, MONGOC_URI_MAXPOOLSIZE, kDefaultPoolSize), ServersOf(uri),
      IsDirect(uri)};
  mongoc_client_pool_push(pool, client);
  if (traits.bound.count() > 0 && traits.bound <= kLongestBound) return traits;
  throw std::invalid_argument(
      "doclock: the pool's URI must have a socketTimeoutMS of 1 to 60000: without one a call to a "
      "frozen server lasts for five minutes, and the leases of what it holds end meanwhile");
}

/// A command begins with its name, and what it is for.
std::string Unauthorized(const Doc& command, const std::string& database) {
  bson_iter_t first;
  if (!bson_iter_init(&first, command.get()) || !bson_iter_next(&first)) return {};
  const bool named = BSON_ITER_HOLDS_UTF8(&first);
  return MissingPrivilege(bson_iter_key(&first), database,
                          named ? bson_iter_utf8(&first, nullptr) : "");
}

/// Never destroyed: stores may be used while the process ends.
const mongoc_read_prefs_t* Primary() {
  static const auto* const primary = mongoc_read_prefs_new(MONGOC_READ_PRIMARY);
  return primary;
}

}  // namespace

milliseconds Until(Deadline deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - SteadyClock::now());
  return std::max(left, milliseconds(0));
}

Server::Server(const std::string& text, const MongodbStoreOptions& options)
    : uri_(nullptr, &mongoc_uri_destroy) {
  InitDriver();
  uri_ = ParseUri(text, options);
  CheckFiles(uri_.get());
  database_ = mongoc_uri_get_database(uri_.get());
  CheckDatabase(database_);
  servers_ = ServersOf(uri_.get());
  direct_ = IsDirect(uri_.get());
  const milliseconds socket =
      Shorter(uri_.get(), MONGOC_URI_SOCKETTIMEOUTMS, options.socket_timeout);
  selection_timeout_ =
      Shorter(uri_.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS, options.server_selection_timeout);
  main_ = std::make_unique<Pool>(uri_.get(), socket, std::min(selection_timeout_, kSelection),
                                 &set_names_);
  Greet();
  own_streams_ =
      std::make_unique<Pool>(uri_.get(), std::min(socket, kStreamTimeout), selection_timeout_);
  streams_ = own_streams_.get();
}

Server::Server(mongoc_client_pool_t* pool, const std::string& database,
               const MongodbStoreOptions& options)
    : database_(database),
      selection_timeout_(options.server_selection_timeout.ms()),
      uri_(nullptr, &mongoc_uri_destroy) {
  if (pool == nullptr) throw std::invalid_argument("doclock: the pool of connections is null");
  CheckDatabase(database);
  const PoolTraits traits = TraitsOf(pool);
  main_ = std::make_unique<Pool>(pool, traits.bound);
  streams_ = main_.get();
  streams_left_ = traits.size / 2;
  servers_ = traits.servers;
  direct_ = traits.direct;
  Greet();
}

Server::~Server() {
  // A pool's monitors notice its end up to half a second late: end all pools at once.
  std::vector<std::jthread> closing;
  const auto close = [&](std::unique_ptr<Pool>& pool) {
    if (pool) closing.emplace_back([&pool] { pool.reset(); });
  };
  close(main_);
  close(own_streams_);
  for (auto& [purpose, pool] : pools_) close(pool);
}

Pool& Server::For(Purpose purpose, milliseconds bound) {
  const bool roomy = bound >= main_->socket_timeout() * 4 / 5;
  if (!uri_ || (purpose == Purpose::kCalls && roomy)) return *main_;
  milliseconds rung = kShortestBound;
  while (rung * 2 <= bound * 5 / 4 && rung * 2 <= main_->socket_timeout()) rung *= 2;
  const std::lock_guard guard(mutex_);
  std::unique_ptr<Pool>& pool = pools_[{purpose, rung}];
  if (!pool) {
    pool = std::make_unique<Pool>(uri_.get(), rung, std::min(selection_timeout_, kSelection));
  }
  return *pool;
}

/// Returns true; false if no primary was found in time.
bool Server::SendHello(Reply& hello) {
  const Deadline deadline = SteadyClock::now() + selection_timeout_;
  do {
    const Session session(*main_);
    if (Send(session, Doc::Of("hello", 1), Effect::kReads, hello)) return true;
    if (!uri_) continue;
    // Errors that do not pass by themselves.
    if (const std::string why = set_names_.WhyNone(uri_.get()); !why.empty()) RefuseToOpen(why);
    if (hello.text.find("initialize TLS") != hello.text.npos) {
      RefuseToOpen(
          "the files of the URI's TLS options hold no certificate or key that can be used");
    }
  } while (SteadyClock::now() < deadline);
  return false;
}

void Server::Greet() {
  Reply hello;
  if (!SendHello(hello) && FailsForGood(hello.text)) hello.outcome = Outcome::kRefused;
  if (!hello.answered()) {
    if (uri_) hello.text += AdviceOn(hello.text, mongoc_uri_get_tls(uri_.get()));
    if (hello.outcome == Outcome::kRefused) RefuseToOpen(hello.text);
    throw StoreException(Errc::kUnavailable, "doclock: MongoDB: " + hello.text);
  }
  if (direct_) CheckRole(hello);
  CheckVersion(hello);
  bson_iter_t iter;
  replica_set_ = bson_iter_init_find(&iter, &hello.doc(), "setName") ||
                 bson_iter_init_find(&iter, &hello.doc(), "msg");  // a mongos says "isdbgrid"
}

/// A secondary may become the primary; these members never do.
void Server::CheckRole(const Reply& hello) const {
  const bool arbiter = FlagAt(hello.doc(), "arbiterOnly");
  if (!arbiter && !FlagAt(hello.doc(), "hidden") && !FlagAt(hello.doc(), "passive")) return;
  RefuseToOpen("the URI connects to one member alone (" + servers_ + "), which is " +
               (arbiter ? "an arbiter" : "hidden or of priority 0") +
               " and never the primary: name the replica set (replicaSet=...) in place of "
               "directConnection=true");
}

void Server::CheckVersion(const Reply& hello) const {
  if (hello.Integer("maxWireVersion") >= kOldestWireVersion) return CheckNow();
  Reply info;
  Run(*main_, Doc::Of("buildInfo", 1), Effect::kReads, SteadyClock::now() + selection_timeout_,
      info);
  bson_iter_t version;
  const bool known = info.answered() && bson_iter_init_find(&version, &info.doc(), "version") &&
                     BSON_ITER_HOLDS_UTF8(&version);
  RefuseToOpen("the server is too old: it is " +
               (known ? std::string(bson_iter_utf8(&version, nullptr)) : "unnamed") +
               ", and 5.0 or newer is needed");
}

/// Servers that speak MongoDB's protocol without being MongoDB may lack its clock.
void Server::CheckNow() const {
  Array stages;
  stages.Add(Doc::Of(
      "$match", Doc::Of("$expr", Doc::Of("$gt", Array().Add(std::string("$$NOW")).Add(false)))));
  stages.Add(Doc::Of("$limit", 1));
  Doc command;
  command.Add("aggregate", "doclock.now").Add("pipeline", stages).Add("cursor", Doc());
  Reply reply;
  Run(*main_, command, Effect::kReads, SteadyClock::now() + selection_timeout_, reply);
  // Unauthorized says nothing about the clock.
  if (reply.outcome != Outcome::kRefused || reply.is_unauthorized()) return;
  RefuseToOpen("the server does not know the variable $$NOW, by which leases are counted: " +
               reply.text);
}

void Server::Run(Pool& pool, const Doc& command, Effect effect, Deadline deadline,
                 Reply& reply) const {
  const Deadline selection_deadline = std::min(deadline, SteadyClock::now() + selection_timeout_);
  if (SteadyClock::now() >= deadline) {
    reply.NotSent("the time of the call was over");
    return NameServers(reply);
  }
  do {
    const Session session(pool);
    if (Send(session, command, effect, reply)) return;
    // Nothing was done, as no primary was there.
    if (reply.met_no_primary()) std::this_thread::sleep_for(std::min(kRolePause, Until(deadline)));
  } while (SteadyClock::now() < selection_deadline);
}

/// Returns true; false if no primary was found, or it is none any more.
bool Server::Send(const Session& session, const Doc& command, Effect effect, Reply& reply) const {
  if (session.client() == nullptr) {
    reply.NotSent(kAllInUse);
    NameServers(reply);
    return true;
  }
  const bool found = RunOn(session.client(), command, nullptr, effect, reply);
  return reply.met_no_primary() ? direct_ : found;
}

bool Server::RunOn(mongoc_client_t* client, const Doc& command, const bson_t* opts, Effect effect,
                   Reply& reply) const {
  bson_t* const answer = reply.Fresh();
  bson_error_t error{};
  const bool done = mongoc_client_command_with_opts(client, database_.c_str(), command.get(),
                                                    Primary(), opts, answer, &error);
  reply.Judge(done, error, effect);
  if (reply.is_unauthorized()) reply.text = Unauthorized(command, database_);
  if (direct_ && reply.met_no_primary()) {
    reply.text +=
        "; the URI connects to this member alone: name the replica set (replicaSet=...) "
        "in place of directConnection=true";
  }
  NameServers(reply);
  return done || error.domain != MONGOC_ERROR_SERVER_SELECTION;
}

void Server::NameServers(CommandResult& result) const {
  if (result.outcome != Outcome::kNotSent && result.outcome != Outcome::kDoubt) return;
  result.text += " (servers: " + servers_ + ")";
}

bool Server::TakeStream() noexcept {
  int left = streams_left_.load();
  while (left > 0) {
    if (streams_left_.compare_exchange_weak(left, left - 1)) return true;
  }
  return false;
}

void Server::AddWriteConcern(Doc& command, milliseconds budget) {
  Doc concern;
  concern.Add("w", "majority").Add("wtimeout", std::max<std::int64_t>(budget.count(), 1));
  command.Add("writeConcern", concern);
}

void Server::AddLinearizable(Doc& command) const {
  command.Add("readConcern", Doc::Of("level", replica_set_ ? "linearizable" : "local"));
}

}  // namespace doclock::mongodb
