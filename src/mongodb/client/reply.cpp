#include "mongodb/client/reply.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace doclock::mongodb {
namespace {

constexpr int kDuplicateKey = 11000;
constexpr int kMaxTimeExpired = 50;

/// Errors after which a write may have happened all the same, or may still happen: network, step
/// down, shutdown, time limits, kills (codes of the server's error_codes.yml).
constexpr std::array kDoubtful = {
    6,   7,   24,  50,  63,  64,  79,   89,    91,    100,   133,   134,   150,   189,   202,  234,
    237, 262, 279, 290, 355, 384, 9001, 10058, 10107, 11600, 11601, 11602, 13435, 13436, 46841};
/// Errors after which nothing was written, and which pass.
constexpr std::array kPassing = {112 /* WriteConflict */, 46 /* LockBusy */,
                                 43 /* CursorNotFound */, 175 /* QueryPlanKilled */};

template <class Codes>
bool Holds(const Codes& codes, int code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
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

/// Classifies an error of the server, for a write or a read.
void Classify(const bson_t& error, int code, Effect effect, CommandResult& result) {
  result.code = code;
  if (Holds(kDoubtful, code)) {
    result.outcome = effect == Effect::kWrites ? Outcome::kDoubt : Outcome::kNotSent;
  } else if (Holds(kPassing, code)) {
    result.outcome = Outcome::kNotSent;
  } else if (code == kDuplicateKey) {
    bson_t pattern;
    if (FindDocument(error, "keyPattern", pattern)) result.duplicate = FieldList(pattern);
  } else {
    result.outcome = Outcome::kRefused;
  }
}

/// The driver's texts about each member that it could not reach: "[...] [...]". They are about
/// connections only and contain no user and no command.
std::string CausesIn(std::string_view message) {
  const std::size_t first = message.find('[');
  return first == message.npos ? "" : ": " + std::string(message.substr(first));
}

/// Nothing of the command itself was sent. The driver also reports a connection that breaks
/// meanwhile as a failed authentication, and only its text tells it from a wrong password.
bool BrokeWhileAuthenticating(const bson_error_t& error) {
  return error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE &&
         std::string_view(error.message).find("socket error or timeout") != std::string_view::npos;
}

bool IsOfServer(const bson_error_t& error) {
  return error.domain == MONGOC_ERROR_SERVER || error.domain == MONGOC_ERROR_QUERY ||
         error.domain == MONGOC_ERROR_COMMAND;
}

}  // namespace

bson_t* Reply::Fresh() noexcept {
  bson_destroy(&bson_);
  static_cast<CommandResult&>(*this) = CommandResult();
  errors_.clear();
  ran_out_of_time_ = false;
  return &bson_;
}

void Reply::Judge(bool done, const bson_error_t& error, Effect effect) {
  const bool unconfirmed = !done && error.domain == MONGOC_ERROR_WRITE_CONCERN;
  if (!done && !unconfirmed) return Fail(error, effect);
  ReadOwnErrors();
  bson_iter_t concern;
  if (effect == Effect::kWrites &&
      (unconfirmed || bson_iter_init_find(&concern, &bson_, "writeConcernError"))) {
    outcome = Outcome::kDoubt;
    text = "the write is not acknowledged by a majority";
  }
}

void Reply::Fail(const bson_error_t& error, Effect effect) {
  const bool writes = effect == Effect::kWrites;
  if (IsOfServer(error)) {
    text = "the server answered with error " + std::to_string(error.code);
    Classify(bson_, static_cast<int>(error.code), effect, *this);
    ran_out_of_time_ = code == kMaxTimeExpired;
    return;
  }
  code = static_cast<int>(error.code);
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
  } else if (error.domain == MONGOC_ERROR_BSON) {
    outcome = Outcome::kRefused;
    text = "the document is too large or cannot be sent";
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
    own.text = "the server refuses the write (code " + std::to_string(own.code) + ")";
    errors_.push_back(std::move(own));
    return true;
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
