#include "mongodb/client/reply.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace doclock::mongodb {
namespace {

constexpr int kMaxTimeExpired = 50;

/// What an error of the server proves about a write.
enum class Proof : std::uint8_t {
  kNone,        ///< It may have happened, or may still happen.
  kNotPrimary,  ///< The server had looked whether it is the primary, which it does before it
                ///< writes.
  kPassing,     ///< Nothing was written, and the reason passes.
  kRefused,     ///< Nothing was written: the server does not do this.
};

struct Code {
  int code;
  Proof proof;
  std::string_view name = {};  ///< Its codeName, which the errors of single statements lack.
  std::string_view why = {};   ///< For those that mean a limit or a setting.
};

constexpr std::string_view kNotThisServer =
    "locks need MongoDB 5.0 or newer, and transactions a replica set or mongos";
constexpr std::string_view kApi =
    "the pool's client must not set apiStrict, nor a server requireApiVersion";
constexpr std::string_view kTooLarge = "a document, with the fields of the lock, may have 16 MiB";

/// The codes of the server's error_codes.yml that are not simply kRefused.
constexpr std::array kCodes = {
    // Interruptions may come after the effect, while the server waits for a majority or the disk.
    Code{kMaxTimeExpired, Proof::kNone, "MaxTimeMSExpired"},
    Code{262, Proof::kNone, "ExceededTimeLimit"},
    Code{202, Proof::kNone, "NetworkInterfaceExceededTimeLimit"},
    Code{24, Proof::kNone, "LockTimeout"},
    Code{290, Proof::kNone, "TransactionExceededLifetimeLimitSeconds"},
    Code{237, Proof::kNone, "CursorKilled"},
    Code{279, Proof::kNone, "ClientDisconnect"},
    Code{355, Proof::kNone, "InterruptedDueToStorageChange"},
    Code{11601, Proof::kNone, "Interrupted"},
    Code{46841, Proof::kNone, "ClientMarkedKilled"},
    // So may the end of a primary: it lets go of the locks first, and then ends what runs.
    Code{91, Proof::kNone, "ShutdownInProgress"},
    Code{189, Proof::kNone, "PrimarySteppedDown"},
    Code{11600, Proof::kNone, "InterruptedAtShutdown"},
    Code{11602, Proof::kNone, "InterruptedDueToReplStateChange"},
    // A mongos lost the answer of a shard, or may have sent the command to more than one.
    Code{6, Proof::kNone, "HostUnreachable"},
    Code{7, Proof::kNone, "HostNotFound"},
    Code{89, Proof::kNone, "NetworkTimeout"},
    Code{9001, Proof::kNone, "SocketException"},
    Code{384, Proof::kNone, "ConnectionError"},
    Code{63, Proof::kNone, "StaleShardVersion"},
    Code{133, Proof::kNone, "FailedToSatisfyReadPreference"},
    Code{134, Proof::kNone, "ReadConcernMajorityNotAvailableYet"},
    Code{150, Proof::kNone, "StaleEpoch"},
    Code{234, Proof::kNone, "RetryChangeStream"},
    // Written, and not acknowledged by a majority.
    Code{64, Proof::kNone, "WriteConcernFailed"},
    Code{79, Proof::kNone, "UnknownReplWriteConcern"},
    Code{100, Proof::kNone, "UnsatisfiableWriteConcern"},

    Code{10058, Proof::kNotPrimary, "LegacyNotPrimary"},
    Code{10107, Proof::kNotPrimary, "NotWritablePrimary"},
    Code{13435, Proof::kNotPrimary, "NotPrimaryNoSecondaryOk"},
    Code{13436, Proof::kNotPrimary, "NotPrimaryOrSecondary"},

    Code{43, Proof::kPassing, "CursorNotFound"},
    Code{46, Proof::kPassing, "LockBusy"},
    Code{kWriteConflict, Proof::kPassing, "WriteConflict"},
    Code{kConflictingOperationInProgress, Proof::kPassing, "ConflictingOperationInProgress"},
    Code{175, Proof::kPassing, "QueryPlanKilled"},
    Code{239, Proof::kPassing, "SnapshotTooOld"},
    Code{246, Proof::kPassing, "SnapshotUnavailable"},
    Code{kNoSuchTransaction, Proof::kPassing, "NoSuchTransaction"},
    Code{267, Proof::kPassing, "PreparedTransactionInProgress"},
    Code{276, Proof::kPassing, "IndexBuildAborted"},
    Code{365, Proof::kPassing, "TemporarilyUnavailable"},
    // A migration (mongosync) blocks writes and lifts the block: no client has to change anything.
    Code{371, Proof::kPassing, "UserWritesBlocked", "an administrator has blocked writes"},
    Code{391, Proof::kPassing, "ReauthenticationRequired"},
    Code{462, Proof::kPassing, "IngressRequestRateLimitExceeded"},
    Code{12586, Proof::kPassing, "BackgroundOperationInProgressForDatabase"},
    Code{12587, Proof::kPassing, "BackgroundOperationInProgressForNamespace"},
    Code{14031, Proof::kPassing, "OutOfDiskSpace", "the server's disk is full"},

    Code{kUnauthorized, Proof::kRefused, "Unauthorized", "the user lacks a privilege"},
    Code{18, Proof::kRefused, "AuthenticationFailed", "correct the user, password or authSource"},
    Code{20, Proof::kRefused, "IllegalOperation", kNotThisServer},
    Code{59, Proof::kRefused, "CommandNotFound", kNotThisServer},
    Code{61, Proof::kRefused, "ShardKeyNotFound", "a sharded collection must be sharded by _id"},
    Code{67, Proof::kRefused, "CannotCreateIndex",
         "a collection has at most 64 indexes, and an index at most 32 fields"},
    Code{73, Proof::kRefused, "InvalidNamespace",
         "the name of a database has at most 63 bytes, and with that of the collection 255"},
    Code{72, Proof::kRefused, "InvalidOptions"},
    Code{76, Proof::kRefused, "NoReplicationEnabled", kNotThisServer},
    Code{115, Proof::kRefused, "CommandNotSupported", kNotThisServer},
    Code{kDocumentValidationFailure, Proof::kRefused, "DocumentValidationFailure"},
    Code{166, Proof::kRefused, "CommandNotSupportedOnView", "it is no plain collection"},
    Code{171, Proof::kRefused, "CannotIndexParallelArrays",
         "an index has two fields that are arrays in the document"},
    Code{263, Proof::kRefused, "OperationNotSupportedInTransaction"},
    Code{322, Proof::kRefused, "APIVersionError", kApi},
    Code{323, Proof::kRefused, "APIStrictError", kApi},
    Code{324, Proof::kRefused, "APIDeprecationError", kApi},
    Code{334, Proof::kRefused, "MechanismUnavailable",
         "the server does not offer the URI's authMechanism"},
    Code{8000, Proof::kRefused, "AtlasError",
         "the plan of the cluster does not allow it, or its storage is full"},
    Code{kBsonObjectTooLarge, Proof::kRefused, "BSONObjectTooLarge", kTooLarge},
    Code{17280, Proof::kRefused, "KeyTooLong"},
    Code{kUpdateTooLarge, Proof::kRefused, {}, kTooLarge},
};

Code Known(int code) {
  const auto* const known =
      std::find_if(kCodes.begin(), kCodes.end(), [&](const Code& one) { return one.code == code; });
  return known == kCodes.end() ? Code{code, Proof::kRefused} : *known;
}

bool IsNotPrimary(int code) { return Known(code).proof == Proof::kNotPrimary; }

/// The name of an error and what it means. Never the server's own text, which holds data.
std::string Describe(const bson_t& error, int code) {
  const Code known = Known(code);
  std::string name = TextAt(error, "codeName");
  if (name.empty()) name = known.name;
  // "Location17419" is how the server calls what has no name.
  const bool named = !name.empty() && !name.starts_with("Location");
  std::string text =
      named ? name + " (error " + std::to_string(code) + ")" : "error " + std::to_string(code);
  if (!known.why.empty()) text += ": " + std::string(known.why);
  return text;
}

bool HasLabel(const bson_t& reply, std::string_view label) {
  bool has = false;
  ForEachItem(reply, "errorLabels", [&](const bson_iter_t& item) {
    has = BSON_ITER_HOLDS_UTF8(&item) && bson_iter_utf8(&item, nullptr) == label;
    return !has;
  });
  return has;
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

std::int64_t IntegerAt(const bson_t& doc, const char* name) {
  bson_iter_t iter;
  return bson_iter_init_find(&iter, &doc, name) ? bson_iter_as_int64(&iter) : 0;
}

Outcome OutcomeOf(Proof proof, Effect effect) {
  if (proof == Proof::kRefused) return Outcome::kRefused;
  return proof == Proof::kNone && effect == Effect::kWrites ? Outcome::kDoubt : Outcome::kNotSent;
}

/// Classifies an error of the server, for a write or a read.
void Classify(const bson_t& error, int code, Effect effect, CommandResult& result) {
  result.code = code;
  if (code == kDuplicateKey) {
    bson_t pattern;
    if (FindDocument(error, "keyPattern", pattern)) result.duplicate = FieldList(pattern);
    return;
  }
  if (result.met_nothing()) return;
  result.outcome = OutcomeOf(Known(code).proof, effect);
}

/// The driver's texts about each member that it could not reach: "[...] [...]". They are about
/// connections only and contain no user and no command.
std::string CausesIn(std::string_view message) {
  const std::size_t first = message.find('[');
  return first == message.npos ? "" : ": " + std::string(message.substr(first));
}

/// Whether the authentication did not take place. Nothing of the command itself was sent. The
/// driver has one code for a connection that breaks meanwhile, a server that shuts down or steps
/// down, and a wrong password; only its text tells them apart.
bool BrokeWhileAuthenticating(const bson_error_t& error) {
  if (error.domain != MONGOC_ERROR_CLIENT || error.code != MONGOC_ERROR_CLIENT_AUTHENTICATE) {
    return false;
  }
  const auto says = [&](const char* text) {
    return std::string_view(error.message).find(text) != std::string_view::npos;
  };
  return says("socket error or timeout") || says("shut") || says("nterrupted") || says("quiesce") ||
         says("not primary") || says("step");
}

/// The driver has these domains for errors of its own, too, which bring no answer of a server.
bool IsOfServer(const bson_error_t& error, const bson_t& answer) {
  const bool shared = error.domain == MONGOC_ERROR_QUERY || error.domain == MONGOC_ERROR_COMMAND;
  return error.domain == MONGOC_ERROR_SERVER || (shared && bson_has_field(&answer, "ok"));
}

/// Whether the driver did not send the command because of what it takes for an argument.
bool IsUnfit(const bson_error_t& error) {
  return error.domain == MONGOC_ERROR_COMMAND && error.code == MONGOC_ERROR_COMMAND_INVALID_ARG;
}

/// Whether the driver takes the server for one that is too old, as it does while it knows nothing
/// of a server that has just gone.
bool HasForgottenServer(const bson_error_t& error) {
  return std::string_view(error.message).find("does not support") != std::string_view::npos;
}

}  // namespace

bson_t* Reply::Fresh() noexcept {
  bson_destroy(&bson_);
  static_cast<CommandResult&>(*this) = CommandResult();
  errors_.clear();
  ran_out_of_time_ = met_no_primary_ = false;
  return &bson_;
}

void Reply::NotSent(const char* why) {
  bson_init(Fresh());
  outcome = Outcome::kNotSent;
  text = why;
}

void Reply::Disown(Effect effect) {
  errors_.clear();
  outcome = effect == Effect::kWrites ? Outcome::kDoubt : Outcome::kNotSent;
  text = kOtherQuestion;
}

bool Reply::AccountsFor(std::size_t statements) const {
  return Integer("n") + static_cast<std::int64_t>(errors_.size()) ==
         static_cast<std::int64_t>(statements);
}

bool Reply::Fits(std::size_t statements, bool tells_each) {
  if (!answered()) return true;
  const auto in_range = [&](std::int64_t value) {
    return value >= 0 && static_cast<std::uint64_t>(value) < statements;
  };
  const std::int64_t all = static_cast<std::int64_t>(statements), done = Integer("n");
  bool fits = tells_each ? AccountsFor(statements) : done == all || in_range(done);
  for (const char* const places : {"writeErrors", "upserted"}) {
    ForEachIn(places, [&](const bson_t& item) {
      return fits = fits && in_range(IntegerAt(item, "index"));
    });
  }
  if (!fits) Disown(Effect::kWrites);
  return fits;
}

bool Reply::is_unconfirmed() const {
  bson_iter_t concern;
  return bson_iter_init_find(&concern, &bson_, "writeConcernError");
}

void Reply::Judge(bool done, const bson_error_t& error, Effect effect) {
  const bool unconfirmed = !done && error.domain == MONGOC_ERROR_WRITE_CONCERN;
  if (!done && !unconfirmed) return Fail(error, effect);
  ReadOwnErrors();
  if (effect == Effect::kWrites && (unconfirmed || is_unconfirmed())) {
    outcome = Outcome::kDoubt;
    text = "the write is not acknowledged by a majority";
  }
}

void Reply::Fail(const bson_error_t& error, Effect effect) {
  const bool writes = effect == Effect::kWrites;
  if (IsOfServer(error, bson_)) {
    Classify(bson_, static_cast<int>(error.code), effect, *this);
    text = "the server answered " + Describe(bson_, code);
    // The server itself proves that nothing is stored: by this command, or by its transaction.
    if (outcome == Outcome::kDoubt && HasLabel(bson_, "NoWritesPerformed")) {
      outcome = Outcome::kNotSent;
    }
    if (!answered() && HasLabel(bson_, "TransientTransactionError")) outcome = Outcome::kNotSent;
    ran_out_of_time_ = code == kMaxTimeExpired;
    met_no_primary_ = IsNotPrimary(code);
    return;
  }
  if (error.domain == MONGOC_ERROR_SERVER_SELECTION) {
    outcome = Outcome::kNotSent;
    text = "no primary was found in time" + CausesIn(error.message);
  } else if (BrokeWhileAuthenticating(error)) {
    outcome = Outcome::kNotSent;
    text = "the connection failed while the user was authenticated";
  } else if (error.domain == MONGOC_ERROR_CLIENT &&
             error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE) {
    outcome = Outcome::kRefused;
    text = "the server does not accept the credentials";
  } else if (error.domain == MONGOC_ERROR_PROTOCOL &&
             error.code == MONGOC_ERROR_PROTOCOL_BAD_WIRE_VERSION) {
    outcome = Outcome::kRefused;
    text =
        "the server and this libmongoc have no version of the protocol in common: one of them "
        "is too old";
  } else if (IsUnfit(error) && HasForgottenServer(error)) {
    outcome = Outcome::kNotSent;
    text = "the connection to the primary was lost";
  } else if (IsUnfit(error)) {
    outcome = Outcome::kRefused;
    text = "libmongoc does not send the command: it takes an option of it for wrong";
  } else if (error.domain == MONGOC_ERROR_BSON) {
    outcome = Outcome::kRefused;
    text = "the command cannot be sent: " + std::string(kTooLarge);
  } else {
    outcome = writes ? Outcome::kDoubt : Outcome::kNotSent;
    text = "the connection failed or gave no answer in time";
  }
}

void Reply::ReadOwnErrors() {
  ForEachIn("writeErrors", [&](const bson_t& error) {
    OwnError own;
    own.statement = static_cast<std::size_t>(IntegerAt(error, "index"));
    Classify(error, static_cast<int>(IntegerAt(error, "code")), Effect::kWrites, own);
    own.text = "the server refuses the write: " + Describe(error, own.code);
    errors_.push_back(std::move(own));
    return true;
  });
  // What matched nothing may be tried again, too.
  const auto is_no_primary = [](const OwnError& own) { return IsNotPrimary(own.code); };
  met_no_primary_ = Integer("n") == 0 && std::ranges::any_of(errors_, is_no_primary) &&
                    std::ranges::all_of(errors_, [&](const OwnError& own) {
                      return own.met_nothing() || is_no_primary(own);
                    });
}

const CommandResult& Reply::Of(std::size_t statement) const noexcept {
  for (const OwnError& error : errors_) {
    if (error.statement == statement) return error;
  }
  return *this;
}

std::int64_t Reply::Integer(const char* name) const { return IntegerAt(bson_, name); }

std::int64_t Reply::cursor_id() const {
  bson_t cursor;
  return FindDocument(bson_, "cursor", cursor) ? IntegerAt(cursor, "id") : 0;
}

}  // namespace doclock::mongodb
