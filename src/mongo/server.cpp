#include "mongo/server.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>

#include "mongo/uri.h"

namespace doclock::mongo {
namespace {

/// $$NOW in findAndModify, and $literal in pipelines as they are used here.
constexpr int kOldestWireVersion = 13;  // MongoDB 5.0
constexpr int kDuplicateKey = 11000;

/// Errors after which a write may be there all the same, or come yet: network, stepping down,
/// shutting down, time limits (error codes of the server's error_codes.yml).
constexpr std::array kDoubtful = {6,     7,     50,    63,    64,  89,   91,    133,
                                  134,   150,   189,   234,   262, 9001, 10058, 10107,
                                  11600, 11602, 13435, 13436, 79,  100};
/// Errors after which nothing is there, and which pass.
constexpr std::array kPassing = {112 /* WriteConflict */, 46 /* LockBusy */, 24 /* LockTimeout */};

template <class Codes>
bool Holds(const Codes& codes, int code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

void InitOnce() {
  static std::once_flag once;
  // mongoc_cleanup is left alone: the program may use the driver for itself.
  std::call_once(once, [] { mongoc_init(); });
}

void LimitTo(mongoc_uri_t* uri, const char* option, Duration limit) {
  const auto most = static_cast<std::int32_t>(limit.ms().count());
  const std::int32_t given = mongoc_uri_get_option_as_int32(uri, option, most);
  mongoc_uri_set_option_as_int32(uri, option, given > 0 ? std::min(given, most) : most);
}

/// "a,b" from {"a": 1, "b": 1}.
std::string FieldList(const bson_t& pattern) {
  std::string fields;
  bson_iter_t iter;
  if (bson_iter_init(&iter, &pattern)) {
    while (bson_iter_next(&iter))
      fields += (fields.empty() ? "" : ",") + std::string(bson_iter_key(&iter));
  }
  return fields;
}

void ReadDuplicate(const bson_t& error, Reply& reply) {
  bson_t pattern;
  if (FindDocument(error, "keyPattern", pattern)) reply.duplicate = FieldList(pattern);
}

int CodeIn(const bson_t& doc) {
  bson_iter_t iter;
  return bson_iter_init_find(&iter, &doc, "code") ? static_cast<int>(bson_iter_as_int64(&iter)) : 0;
}

/// The first of writeErrors, if there are any.
void ReadWriteErrors(Reply& reply) {
  bson_iter_t errors, error;
  if (!bson_iter_init_find(&errors, &reply.doc(), "writeErrors") ||
      !bson_iter_recurse(&errors, &error) || !bson_iter_next(&error)) {
    return;
  }
  bson_t doc;
  if (!DocumentAt(error, doc)) return;
  reply.code = CodeIn(doc);
  ReadDuplicate(doc, reply);
  reply.text = "the server refuses the write (code " + std::to_string(reply.code) + ")";
  if (Holds(kDoubtful, reply.code)) {
    reply.outcome = Outcome::kDoubt;
  } else if (Holds(kPassing, reply.code)) {
    reply.outcome = Outcome::kNotSent;
  } else if (!reply.is_duplicate()) {
    reply.outcome = Outcome::kRefused;
  }
}

void Classify(const bson_error_t& error, Effect effect, Reply& reply) {
  const bool writes = effect == Effect::kWrites;
  reply.code = static_cast<int>(error.code);
  if (error.domain == MONGOC_ERROR_SERVER_SELECTION) {
    reply.outcome = Outcome::kNotSent;
    reply.text = "no primary was found in time";
  } else if (error.domain == MONGOC_ERROR_SERVER || error.domain == MONGOC_ERROR_WRITE_CONCERN ||
             error.domain == MONGOC_ERROR_QUERY || error.domain == MONGOC_ERROR_COMMAND) {
    reply.text = "the server answered with error " + std::to_string(error.code);
    if (Holds(kDoubtful, reply.code)) {
      reply.outcome = writes ? Outcome::kDoubt : Outcome::kNotSent;
    } else if (Holds(kPassing, reply.code)) {
      reply.outcome = Outcome::kNotSent;
    } else if (reply.code == kDuplicateKey) {
      ReadDuplicate(reply.doc(), reply);
    } else {
      reply.outcome = Outcome::kRefused;
    }
  } else if (error.domain == MONGOC_ERROR_CLIENT &&
             error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE) {
    reply.outcome = Outcome::kRefused;
    reply.text = "the server does not accept the credentials";
  } else if (error.domain == MONGOC_ERROR_BSON) {
    reply.outcome = Outcome::kRefused;
    reply.text = "the document is too large or cannot be sent";
  } else {
    reply.outcome = writes ? Outcome::kDoubt : Outcome::kNotSent;
    reply.text = "the connection failed or gave no answer in time";
  }
}

}  // namespace

std::int64_t Reply::Integer(const char* name) const {
  bson_iter_t iter;
  return bson_iter_init_find(&iter, &bson_, name) ? bson_iter_as_int64(&iter) : 0;
}

bool Reply::FirstBatch(bson_iter_t& item) const {
  bson_t cursor;
  bson_iter_t batch;
  return FindDocument(bson_, "cursor", cursor) &&
         bson_iter_init_find(&batch, &cursor, "firstBatch") && bson_iter_recurse(&batch, &item);
}

Server::Server(const std::string& text, const MongodbStoreOptions& options) {
  InitOnce();
  const UriPtr uri = ParseUri(text, options);
  database_ = mongoc_uri_get_database(uri.get());
  LimitTo(uri.get(), MONGOC_URI_SOCKETTIMEOUTMS, options.socket_timeout);
  LimitTo(uri.get(), MONGOC_URI_CONNECTTIMEOUTMS, options.socket_timeout);
  LimitTo(uri.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS, options.server_selection_timeout);
  bson_error_t error;
  pool_ = mongoc_client_pool_new_with_error(uri.get(), &error);
  if (pool_ == nullptr)
    throw std::invalid_argument("doclock: the mongodb: URI's options cannot be used");
  mongoc_client_pool_set_error_api(pool_, MONGOC_ERROR_API_VERSION_2);
  mongoc_client_pool_set_appname(pool_, "doclock");
  try {
    Greet();
  } catch (...) {
    mongoc_client_pool_destroy(pool_);
    throw;
  }
}

Server::~Server() { mongoc_client_pool_destroy(pool_); }

void Server::Greet() {
  Reply reply;
  Run(Doc::Of("hello", 1), Effect::kReads, reply);
  if (!reply.answered()) {
    const bool refused = reply.outcome == Outcome::kRefused;
    throw StoreException(refused ? Errc::kRefused : Errc::kUnavailable,
                         "doclock: MongoDB: " + reply.text);
  }
  if (reply.Integer("maxWireVersion") < kOldestWireVersion) {
    throw StoreException(Errc::kRefused, "doclock: MongoDB: the server is older than 5.0");
  }
  bson_iter_t iter;
  replica_set_ = bson_iter_init_find(&iter, &reply.doc(), "setName") ||
                 bson_iter_init_find(&iter, &reply.doc(), "msg");  // a mongos says "isdbgrid"
}

void Server::Run(const Doc& command, Effect effect, Reply& reply) {
  const Session session(pool_, mongoc_client_pool_pop(pool_));
  bson_error_t error{};
  const std::unique_ptr<mongoc_read_prefs_t, decltype(&mongoc_read_prefs_destroy)> primary(
      mongoc_read_prefs_new(MONGOC_READ_PRIMARY), &mongoc_read_prefs_destroy);
  bson_destroy(reply.raw());
  const bool done =
      mongoc_client_command_with_opts(session.client(), database_.c_str(), command.get(),
                                      primary.get(), nullptr, reply.raw(), &error);
  reply.outcome = Outcome::kAnswered;
  if (!done) return Classify(error, effect, reply);
  ReadWriteErrors(reply);
  bson_iter_t concern;
  if (effect == Effect::kWrites &&
      bson_iter_init_find(&concern, &reply.doc(), "writeConcernError")) {
    reply.outcome = Outcome::kDoubt;
    reply.text = "the write is not acknowledged by a majority";
  }
}

void Server::AddWriteConcern(Doc& command, std::chrono::milliseconds budget) {
  Doc concern;
  concern.Add("w", "majority").Add("wtimeout", std::int64_t{budget.count()});
  command.Add("writeConcern", concern);
}

void Server::AddLinearizable(Doc& command) const {
  command.Add("readConcern", Doc::Of("level", replica_set_ ? "linearizable" : "local"));
}

}  // namespace doclock::mongo
