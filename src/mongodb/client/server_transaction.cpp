#include "mongodb/client/server_transaction.h"

#include <algorithm>
#include <thread>

#include "doclock/errors.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// Local reads are enough: what others have written, and no majority yet, the commit waits for.
Owned<mongoc_transaction_opt_t> OptionsFor(milliseconds left, milliseconds longest) {
  Owned<mongoc_transaction_opt_t> options(mongoc_transaction_opts_new(),
                                          mongoc_transaction_opts_destroy);
  const Owned<mongoc_read_concern_t> read(mongoc_read_concern_new(), mongoc_read_concern_destroy);
  mongoc_read_concern_set_level(read.get(), MONGOC_READ_CONCERN_LEVEL_LOCAL);
  mongoc_transaction_opts_set_read_concern(options.get(), read.get());
  const Owned<mongoc_write_concern_t> write(mongoc_write_concern_new(),
                                            mongoc_write_concern_destroy);
  mongoc_write_concern_set_wmajority(write.get(), static_cast<std::int32_t>(left.count()));
  mongoc_transaction_opts_set_write_concern(options.get(), write.get());
  const Owned<mongoc_read_prefs_t> primary(mongoc_read_prefs_new(MONGOC_READ_PRIMARY),
                                           mongoc_read_prefs_destroy);
  mongoc_transaction_opts_set_read_prefs(options.get(), primary.get());
  mongoc_transaction_opts_set_max_commit_time_ms(options.get(), std::min(left, longest).count());
  return options;
}

/// What a command works on is the value of its first field.
std::string CollectionOf(const Doc& command) {
  bson_iter_t first;
  const bool named = bson_iter_init(&first, command.get()) && bson_iter_next(&first) &&
                     BSON_ITER_HOLDS_UTF8(&first);
  return named ? bson_iter_utf8(&first, nullptr) : "";
}

[[noreturn]] void CannotBegin(const Server& server, Reply& reply) {
  server.NameServers(reply);
  throw StoreException(Errc::kUnavailable, "doclock: MongoDB: " + reply.text);
}

}  // namespace

ServerTransaction::ServerTransaction(const Server& server, Pool& pool, Deadline deadline)
    : server_(server),
      deadline_(deadline),
      // A little less than what the connection waits, so that the server's own answer comes first.
      longest_(pool.socket_timeout() * 9 / 10),
      connection_(pool) {
  Reply reply;
  if (client() == nullptr) {
    reply.NotSent(kAllInUse);
    CannotBegin(server, reply);
  }
  bson_error_t error{};
  session_.reset(mongoc_client_start_session(client(), nullptr, &error));
  const auto options = OptionsFor(std::max(Until(deadline), milliseconds(1)), longest_);
  const bool begun = session_ &&
                     mongoc_client_session_start_transaction(session(), options.get(), &error) &&
                     mongoc_client_session_append(session(), opts_.get(), &error);
  if (begun) return;
  bson_init(reply.Fresh());
  reply.Judge(false, error, Effect::kReads);
  CannotBegin(server, reply);
}

ServerTransaction::~ServerTransaction() {
  if (!IsInProgress() && !may_stay_open_) return;
  // libmongoc finds no server for a moment behind a lost connection. While this one is open, no
  // other attempt can write its documents.
  constexpr milliseconds kPause{100};
  const Deadline end = std::max(deadline_, std::chrono::steady_clock::now() + 10 * kPause);
  try {
    while (!Abort() && Until(end) > kPause) std::this_thread::sleep_for(kPause);
  } catch (const std::exception&) {  // then the server ends it after a minute
  }
}

void ServerTransaction::Run(Doc& command, Reply& reply) {
  const milliseconds most = std::min(Until(deadline_), longest_);
  collection_ = CollectionOf(command);
  command.Add("maxTimeMS", std::max<std::int64_t>(most.count(), 1));
  // As a read, because nothing that it has done is stored yet.
  server_.RunOn(client(), command, opts_.get(), Effect::kReads, reply);
  // By these the server has ended it, or never begun it.
  const bool ended = reply.code == kWriteConflict || reply.code == kNoSuchTransaction;
  if (!reply.answered() && !ended) may_stay_open_ = true;
}

void ServerTransaction::Distrust(const std::string& collection) {
  collection_ = collection;
  // Until a command is sent, libmongoc itself knows that there is nothing to end.
  may_stay_open_ = State() != MONGOC_TRANSACTION_STARTING;
}

ServerTransaction::End ServerTransaction::Commit(Reply& reply) {
  constexpr milliseconds kShortest{5}, kLongest{100};
  for (milliseconds pause = kShortest;; pause = std::min(pause * 2, kLongest)) {
    const End end = CommitOnce(reply);
    if (end != End::kUnknown) return end;
    if (std::chrono::steady_clock::now() >= deadline_) break;
    std::this_thread::sleep_for(std::min(pause, Until(deadline_)));
  }
  // It may be open still, and keep other writers away. libmongoc cannot abort it any more.
  may_stay_open_ = !Kill();
  return may_stay_open_ ? End::kUnknown : CommitOnce(reply);
}

ServerTransaction::End ServerTransaction::CommitOnce(Reply& reply) {
  bson_t* const answer = reply.Fresh();
  bson_error_t error{};
  const bool done = mongoc_client_session_commit_transaction(session(), answer, &error);
  reply.Judge(done, error, Effect::kWrites);
  server_.NameServers(reply);
  if (done && reply.answered()) return End::kStored;
  // A server that has lost its majority says so too, of what a later primary may have.
  const bool none = !done && reply.code == kNoSuchTransaction && !reply.is_unconfirmed();
  return none ? End::kNothing : End::kUnknown;
}

/// Its own session is all that this ends, and needs no privilege. Returns whether a server has
/// answered.
bool ServerTransaction::Kill() const {
  Doc lsid;
  bson_concat(lsid.get(), mongoc_client_session_get_lsid(session()));
  const Doc command = Doc::Of("killSessions", Array().Add(lsid));
  Reply reply;
  server_.RunOn(client(), command, nullptr, Effect::kReads, reply);
  return reply.answered();
}

/// Uses up the number of the transaction, so that the server does none of its commands that come
/// late: after abortTransaction alone, a late first one would begin it. It needs no privilege that
/// the commands did not. Returns true; false if no server has answered.
bool ServerTransaction::UseUp() {
  Doc look;
  look.Add("find", collection_).Add("limit", 1).Add("singleBatch", true);
  if (IsInProgress()) {
    look.Add("startTransaction", true);
  } else {
    // libmongoc has ended it. A newer one of the session makes the server end it too.
    const auto options = OptionsFor(longest_, longest_);
    if (!mongoc_client_session_start_transaction(session(), options.get(), nullptr)) return false;
  }
  look.Add("maxTimeMS", longest_.count());
  Reply reply;
  server_.RunOn(client(), look, opts_.get(), Effect::kReads, reply);
  return reply.answered() || reply.code == kConflictingOperationInProgress ||
         reply.code == kNoSuchTransaction;
}

/// Whether a server says that the transaction is over. libmongoc's own abort writes to the
/// program's log if the server has ended it before.
bool ServerTransaction::Abort() {
  if (may_stay_open_ && !UseUp()) return false;
  Reply reply;
  bson_t* const answer = reply.Fresh();
  bson_error_t error{};
  const bool done = mongoc_client_write_command_with_opts(
      client(), "admin", Doc::Of("abortTransaction", 1).get(), opts_.get(), answer, &error);
  reply.Judge(done, error, Effect::kReads);
  if (!reply.answered() && reply.code != kNoSuchTransaction) return false;
  // It commits nothing: it takes libmongoc's session out of the transaction, without a line in the
  // log.
  mongoc_client_session_commit_transaction(session(), nullptr, nullptr);
  return true;
}

}  // namespace doclock::mongodb
