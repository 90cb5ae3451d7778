#include "postgresql/client/failure.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "locking/database.h"

namespace doclock::postgresql {
namespace {

constexpr const char* kOfSettings =
    "it does not know a setting that options (or PGOPTIONS) gives, or does not take its value";

struct Reason {
  std::string_view token;  ///< A SQLSTATE, the class of some, or a part of a message.
  const char* text;        ///< Null: it passes.
};

/// What poolers say, mostly with 08P01 (pgbouncer) or 58000 (PgCat). The first one counts.
constexpr Reason kMessages[] = {
    {"no more connections", nullptr},
    {"connections exceeded", nullptr},
    {"transaction blocks not allowed",
     "the pooler gives each statement another session: let it give each transaction one, or keep "
     "whole sessions (of pgbouncer: pool_mode)"},
    {"admin console", "it is the console of the pooler: name a database"},
    {"startup parameter",
     "the pooler takes no such parameter: take options out of the URL (a schema is named by ALTER "
     "ROLE ... SET search_path), or let the pooler pass it on (of pgbouncer: "
     "ignore_startup_parameters only hides it)"},
    {"command-line options", "the pooler takes no options: take them out of the URL"},
    {"no such database", "the pooler has no such database: add it to the pooler's databases"},
    {"No pool configured", "the pooler has no such database or role: add them"},
    {"route for", "the pooler has no route to such a database for such a role: add one"},
    {"Tenant or user not found", "the pooler has no such tenant or role"},
    {"tenant/user", "the pooler has no such tenant or role"},
    {"no tenant identifier", "the pooler wants a tenant in the name of the role"},
    {"tenant allow_list", "the pooler does not let this machine's address in"},
    {"tenant is banned", "the pooler does not let the tenant in"},
    {"has no credentials for the role", "the pooler has no credentials for the role: add them"},
    {"is disabled", "the pooler has the database disabled: enable it"},
    {"no such user", "the pooler has no such role: add it to the pooler's roles"},
    {"bouncer config error",
     "the pooler has no such database, or its configuration is wrong: its log names the cause"},
    {"SSL required", "the pooler wants TLS: set sslmode"},
    {"SSL is required", "the pooler wants TLS: set sslmode"},
    {"SSL connection is required", "the pooler wants TLS: set sslmode"},
    {"server refused SSL", "the pooler wants TLS of the server, which has none"},
    {"wrong password type",
     "the pooler cannot log in to the server by the kind of password that it has (of pgbouncer: "
     "auth_file has md5, the server wants SCRAM)"},
    {"empty password", "there is no password"},
    {"no authentication method", "the pooler has no way for the role to log in"},
    {"ldap is not supported", "the pooler is built without the way to log in that it is told"},
    {"SASL authentication mechanisms", "the server offers no way to log in that the pooler has"},
    {"PQexec disallowed", "the pooler takes no simple queries (of pgbouncer: disable_pqexec)"},
    {"uthentication failed", "the password is wrong, or the role does not exist"},
    {"login rejected", "the pooler does not let the role in"},
    {"username", "the pooler does not take the name of the role"},
    {"password too long", "the pooler does not take so long a password"},
    {"pool_hba.conf", "the pooler's pool_hba.conf does not let the role in"},
    // What the server answered to the pooler's own login.
    {"does not exist", "the database or the role does not exist"},
    {"pg_hba.conf", "pg_hba.conf does not let the pooler or the role in"},
    {"is not currently accepting connections",
     "the database takes no connections: see "
     "pg_database.datallowconn"},
    {"is not accepting connections",
     "it is a standby that takes no connections (hot_standby is off)"},
    {"hot standby mode", "it is a standby"},
    {"read-only mode", "it takes no writes"},
    {"permission denied for database", "the role may not connect to the database"},
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

/// What PostgreSQL means by its states, and others as it does.
constexpr Reason kStates[] = {
    {"53400", "a limit that its configuration sets is reached"},
    {"53", nullptr},
    {"3D000", "the database does not exist"},
    {"28P01", "the password is wrong, or the role does not exist"},
    {"28", "the role does not exist, or pg_hba.conf does not let it in"},
    {"42501", "the role may not connect to the database"},
    {"55000", "the database takes no connections: see pg_database.datallowconn"},
    {"0A000", "it does not have what the connection asks for: the protocol, or a parameter"},
    {"58P01", "a file of the database is missing: see the server's log"},
    {"XX001", "the database is damaged: see the server's log"},
    {"XX002", "the database is damaged: see the server's log"},
    {"22023", kOfSettings},
    {"42601", kOfSettings},
    {"42704", kOfSettings},
    {"55P02", kOfSettings},
};

[[noreturn]] void Throw(const Refusal& refusal) {
  if (refusal.IsRace()) throw locking::Raced();
  if (refusal.IsKept()) throw StoreException(Errc::kUnavailable, locking::kKeptText);
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
                          : refusal.state == "57014" ? ": it took too long, or was cancelled: "
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

/// The text of the first reason whose token the message has; null: none, or it passes.
const char* ReasonIn(std::span<const Reason> reasons, std::string_view message) noexcept {
  const auto found = std::ranges::find_if(
      reasons, [&](const Reason& one) { return message.find(one.token) != message.npos; });
  return found == reasons.end() ? nullptr : found->text;
}

}  // namespace

const char* LastingReason(std::string_view state, std::string_view message) noexcept {
  const auto* const by_state = std::ranges::find_if(
      kStates, [&](const Reason& one) { return state.starts_with(one.token); });
  // A server's message may be in any language, and a state of its own is more exact.
  if (by_state != std::end(kStates)) return by_state->text;
  return ReasonIn(kMessages, message);
}

const char* LastingReasonOfLibpq(std::string_view message) noexcept {
  return ReasonIn(kOfLibpq, message);
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
