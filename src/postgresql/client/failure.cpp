#include "postgresql/client/failure.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "locking/database.h"

namespace doclock::postgresql {
namespace {

/// Parts of what poolers say, mostly with 08P01 (pgbouncer) or 58000 (PgCat), that passes.
constexpr std::string_view kPassing[] = {"no more connections", "connections exceeded"};
/// And of what lasts; among it what the server answered to the pooler's own login.
constexpr std::string_view kLasting[] = {"transaction blocks not allowed",
                                         "admin console",
                                         "startup parameter",
                                         "command-line options",
                                         "no such database",
                                         "No pool configured",
                                         "route for",
                                         "Tenant or user not found",
                                         "tenant/user",
                                         "no tenant identifier",
                                         "tenant allow_list",
                                         "tenant is banned",
                                         "has no credentials for the role",
                                         "is disabled",
                                         "no such user",
                                         "bouncer config error",
                                         "SSL required",
                                         "SSL is required",
                                         "SSL connection is required",
                                         "server refused SSL",
                                         "wrong password type",
                                         "empty password",
                                         "no authentication method",
                                         "ldap is not supported",
                                         "SASL authentication mechanisms",
                                         "PQexec disallowed",
                                         "uthentication failed",
                                         "login rejected",
                                         "username",
                                         "password too long",
                                         "pool_hba.conf",
                                         "does not exist",
                                         "pg_hba.conf",
                                         "is not currently accepting connections",
                                         "is not accepting connections",
                                         "hot standby mode",
                                         "read-only mode",
                                         "permission denied for database"};

struct Reason {
  std::string_view token;  ///< A part of a message.
  const char* text;
};

constexpr const char* kNoSuchLogin =
    "the server wants a way to log in that libpq does not have, or that require_auth excludes";

/// What libpq says.
constexpr Reason kOfLibpq[] = {
    {"no password supplied",
     "there is no password (a password file counts if it is a plain file that others cannot read)"},
    {"could not match", "hosts, addresses and ports are not the same number"},
    {"Unix-domain socket path", "the path of the socket is too long"},
    {"requirepeer", "the server is not of the user that requirepeer names"},
    {"private key",
     "the private key (sslkey) cannot be used: others may read it, or sslpassword is missing or "
     "wrong, or it is not that of sslcert"},
    {"channel binding", "channel_binding asks for what cannot be had"},
    {"GSSAPI encryption required", "gssencmode asks for what cannot be had"},
    {"uthentication method", kNoSuchLogin},
    {"authentication not supported", kNoSuchLogin},
    {"SASL authentication mechanisms", kNoSuchLogin},
    {"service file", "the service file (PGSERVICEFILE) is missing or wrong"},
};

/// SQLSTATEs, or classes of some, of what lasts: a file of the database is missing or damaged, say.
constexpr std::string_view kLastingStates[] = {"53400", "3D000", "28",    "42501", "55000",
                                               "0A000", "58P01", "XX001", "XX002", "22023",
                                               "42601", "42704", "55P02"};

[[noreturn]] void Throw(const Refusal& refusal) {
  if (refusal.IsRace()) throw locking::Raced();
  if (refusal.IsKept()) throw locking::Raced(locking::kKeptText);  // it may wait once more
  // A connection, a resource, an operator, or the system: it may pass. (08P01: two clients of a
  // pooler gave statements one name. 53400: a limit of the configuration. 58P01: a missing file.)
  const std::string kind = refusal.state.substr(0, 2);
  const bool passes = (kind == "08" && refusal.state != "08P01") || kind == "57" ||
                      (kind == "53" && refusal.state != "53400") ||
                      (kind == "58" && refusal.state != "58P01");
  const char* const why = refusal.IsUnwritten() ? ": a trigger or a rule of the table kept a "
                                                  "row from being written or erased. Drop it"
                          : refusal.state == "54000"
                              ? ": a value, or the list of the fields, is too long for an "
                                "index"
                          : refusal.IsTimeout()      ? ": it took too long, or was cancelled: "
                                                       "other clients' transactions may keep the "
                                                       "document"
                          : refusal.state == "53400" ? ": a limit of the server's configuration, "
                                                       "as temp_file_limit, is reached"
                          : refusal.state == "42501" ? ": the user lacks a privilege"
                          : refusal.state == "42P01"
                              ? ": a table is missing, of this library or one that a trigger names"
                          : refusal.state == "P0001" ? ": a trigger raised an exception"
                          : refusal.state == "0A000" ? ": was a column's type changed while the "
                                                       "store was open?"
                          : refusal.state == kNotPrepared ? kOtherSession
                                                          : "";
  throw StoreException(passes ? Errc::kUnavailable : Errc::kRefused,
                       "doclock: PostgreSQL refused a statement (SQLSTATE " + refusal.state + ")" +
                           why + (refusal.lacking.empty() ? "" : " (" + refusal.lacking + ")"));
}

bool HasAny(std::string_view message, std::span<const std::string_view> tokens) noexcept {
  return std::ranges::any_of(tokens,
                             [&](auto token) { return message.find(token) != message.npos; });
}

}  // namespace

bool Lasts(std::string_view state, std::string_view message) noexcept {
  // A server's message may be in any language, and a state of its own is more exact.
  const auto has = [&](auto token) { return state.starts_with(token); };
  if (std::ranges::any_of(kLastingStates, has)) return true;
  return !state.starts_with("53") && !HasAny(message, kPassing) && HasAny(message, kLasting);
}

const char* LastingReasonOfLibpq(std::string_view message) noexcept {
  const auto* const found = std::ranges::find_if(
      kOfLibpq, [&](const Reason& one) { return message.find(one.token) != message.npos; });
  return found == std::end(kOfLibpq) ? nullptr : found->text;
}

void RefuseAnswer(const char* why) {
  Loss loss(std::string("an answer of the server does not fit what was asked: ") + why);
  loss.for_good = true;
  throw loss;
}

void ThrowNothingStored() {
  try {
    throw;
  } catch (const Refusal& refusal) {
    Throw(refusal);
  } catch (const Loss& loss) {
    const std::string text = "doclock: PostgreSQL: " + loss.text;
    if (loss.for_good) throw StoreException(Errc::kRefused, text);
    throw locking::Raced(text);  // of a session that ended while it was not in use, say
  }
}

}  // namespace doclock::postgresql
