#include "mongodb/client/uri.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>

#include "document/values/utf8.h"

namespace doclock::mongodb {
namespace {

using std::string_view;

/// The options that libmongoc knows, in lower case.
constexpr std::array<string_view, 44> kKnown = {"appname",
                                                "authmechanism",
                                                "authmechanismproperties",
                                                "authsource",
                                                "compressors",
                                                "connecttimeoutms",
                                                "directconnection",
                                                "heartbeatfrequencyms",
                                                "journal",
                                                "loadbalanced",
                                                "localthresholdms",
                                                "maxpoolsize",
                                                "maxstalenessseconds",
                                                "readconcernlevel",
                                                "readpreference",
                                                "readpreferencetags",
                                                "replicaset",
                                                "retryreads",
                                                "retrywrites",
                                                "serverselectiontimeoutms",
                                                "serverselectiontryonce",
                                                "socketcheckintervalms",
                                                "sockettimeoutms",
                                                "srvmaxhosts",
                                                "srvservicename",
                                                "ssl",
                                                "sslallowinvalidcertificates",
                                                "sslallowinvalidhostnames",
                                                "sslcertificateauthorityfile",
                                                "sslclientcertificatekeyfile",
                                                "sslclientcertificatekeypassword",
                                                "tls",
                                                "tlsallowinvalidcertificates",
                                                "tlsallowinvalidhostnames",
                                                "tlscafile",
                                                "tlscertificatekeyfile",
                                                "tlscertificatekeyfilepassword",
                                                "tlsdisablecertificaterevocationcheck",
                                                "tlsdisableocspendpointcheck",
                                                "tlsinsecure",
                                                "w",
                                                "waitqueuetimeoutms",
                                                "wtimeoutms",
                                                "zlibcompressionlevel"};

/// Options of which libmongoc prints a line, in some version, whatever their value is.
struct Retired {
  string_view name;     ///< In lower case.
  const char* instead;  ///< The end of the error's text.
};
constexpr std::array kRetired{
    Retired{"canonicalizehostname",
            " is deprecated: write authMechanismProperties=CANONICALIZE_HOST_NAME:true"},
    Retired{"gssapiservicename", " is deprecated: write authMechanismProperties=SERVICE_NAME:NAME"},
    Retired{"maxidletimems", " has no effect: leave it out"},
    Retired{"minpoolsize", " has no effect: leave it out"},
    Retired{"waitqueuemultiple", " has no effect: leave it out"}};

/// These options turn off the check of the server's identity: any man in the middle gets the
/// password and the documents.
constexpr std::array<string_view, 5> kInsecure{
    "tlsinsecure", "tlsallowinvalidcertificates", "tlsallowinvalidhostnames",
    "sslallowinvalidcertificates", "sslallowinvalidhostnames"};

template <class Names>
bool Holds(const Names& names, string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void Refuse(const std::string& what) {
  throw std::invalid_argument("doclock: the mongodb: URI" + what);
}

std::string Lower(string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// A message names an option only if its name is plausible: a URI with a stray '?' in its password
/// must not show the rest of the password.
bool IsPlainName(string_view name) {
  constexpr std::size_t kLongest = 40;
  return !name.empty() && name.size() <= kLongest &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

/// What is wrong with the number of an option; empty: nothing.
std::string WhatIsWrongWithNumber(string_view name, string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) {
    return " must be a whole number";
  }
  if (error != std::errc()) {
    constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
    return " must be a whole number of at most " + std::to_string(kMost);
  }
  // libmongoc prints a line of others, each time that it makes a pool.
  if (name == "localthresholdms" && number < 0) return " must be at least 0";
  if (name == "maxstalenessseconds" && number < 90 && number != -1) {
    return " must be -1, or at least 90";
  }
  return {};
}

void CheckValue(const std::string& shown, const std::string& name, string_view value) {
  if (value.empty()) Refuse("'s option " + shown + " has no value");
  if (mongoc_uri_option_is_bool(name.c_str()) && value != "true" && value != "false") {
    Refuse("'s option " + shown + " must be true or false");
  }
  if (mongoc_uri_option_is_int32(name.c_str()) || mongoc_uri_option_is_int64(name.c_str())) {
    const std::string wrong = WhatIsWrongWithNumber(name, value);
    if (!wrong.empty()) Refuse("'s option " + shown + wrong);
  }
}

/// libmongoc prints a name that it does not know.
void CheckCompressors(const std::string& shown, string_view value) {
  constexpr std::array<string_view, 4> kCompressors{"zlib", "snappy", "zstd", "noop"};
  for (;;) {
    const std::size_t end = std::min(value.find(','), value.size());
    if (!Holds(kCompressors, value.substr(0, end))) {
      Refuse("'s option " + shown + " must be a list of zlib, snappy, zstd");
    }
    if (end == value.size()) return;
    value.remove_prefix(end + 1);
  }
}

/// libmongoc prints a list that it cannot read.
void CheckPairs(const std::string& shown, string_view value) {
  for (;;) {
    const std::size_t end = std::min(value.find(','), value.size());
    if (value.substr(0, end).find(':') == value.npos) {
      Refuse("'s option " + shown + " must be a list of NAME:VALUE, with ',' between them");
    }
    if (end == value.size()) return;
    value.remove_prefix(end + 1);
  }
}

void CheckOption(string_view item, const MongodbStoreOptions& options,
                 std::set<std::string>& seen) {
  const std::size_t equals = std::min(item.find('='), item.size());
  const std::string shown(item.substr(0, equals));
  const std::string name = Lower(shown);
  if (!IsPlainName(name)) Refuse("'s options are not NAME=VALUE, with & between them");
  const auto retired = std::ranges::find(kRetired, name, &Retired::name);
  if (retired != kRetired.end()) Refuse("'s option " + shown + retired->instead);
  if (!Holds(kKnown, name)) {
    Refuse("'s option " + shown + " is not known");
  }
  const string_view value = equals < item.size() ? item.substr(equals + 1) : string_view();
  CheckValue(shown, name, value);
  if (name == "compressors") CheckCompressors(shown, value);
  if (name == "readpreferencetags" || name == "authmechanismproperties") CheckPairs(shown, value);
  if (!seen.insert(name).second && name != "readpreferencetags") {
    Refuse("'s option " + shown + " is given twice");
  }
  if (Holds(kInsecure, name) && !options.allow_insecure_tls && value == "true") {
    Refuse("'s option " + shown + " is accepted with MongodbStoreOptions::allow_insecure_tls only");
  }
}

/// The part after the '?'. In hosts, user and password a '?' must be percent-encoded.
string_view OptionsOf(string_view text) {
  const std::size_t question = text.find('?');
  return question == text.npos ? string_view() : text.substr(question + 1);
}

/// Refuses an '@' that is not encoded: the driver would take the rest of a password for a host
/// name.
void CheckCredentials(string_view text) {
  const std::size_t first = text.find('@');
  if (first == text.npos) return;
  const std::size_t scheme = text.find("://");
  const std::size_t hosts = scheme == text.npos ? 0 : scheme + 3;
  if (first != text.rfind('@') || first > text.find('/', hosts)) {
    Refuse(" holds '@' elsewhere than behind the password: write it as %40 and '/' as %2F");
  }
}

void CheckOptions(string_view text, const MongodbStoreOptions& options) {
  // The '?' may be part of a password.
  if (text.find('@') != text.npos) {
    Refuse(
        " holds '@' behind '?': write '@' as %40 in an option, and '?' as %3F in user or password");
  }
  std::set<std::string> seen;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("&;"), text.size());
    CheckOption(text.substr(0, end), options, seen);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Refuses a bad escape, of which the driver would print a warning.
void CheckEscapes(string_view text) {
  std::string plain;
  for (std::size_t at; (at = text.find('%')) != text.npos; text.remove_prefix(at + 3)) {
    const string_view digits = text.substr(at + 1, 2);
    unsigned char byte = 0;
    const char* const end = digits.data() + digits.size();
    if (digits.size() != 2 || std::from_chars(digits.data(), end, byte, 16).ptr != end) {
      Refuse(" holds '%' without two hexadecimal digits behind it: write it as %25");
    }
    if (byte == 0) Refuse(" holds '%00'");
    (plain += text.substr(0, at)) += static_cast<char>(byte);
  }
  if (!detail::IsUtf8(plain += text)) Refuse(" holds bytes that are not UTF-8");
}

void CheckPlaces(string_view text) {
  if (const std::string wrong = WhatIsWrongWithServers(text); !wrong.empty()) Refuse(wrong);
  if (const std::string wrong = WhatIsWrongWithDatabase(text); !wrong.empty()) Refuse(wrong);
}

}  // namespace

namespace {

/// The driver's words for what it refuses, of those that quote no value of the URI, and what
/// doclock says instead.
struct Reason {
  string_view driver;  ///< In lower case.
  const char* ours;
};
constexpr std::array kReasons{
    Reason{"\"heartbeatfrequencyms\" of", "'s option heartbeatFrequencyMS must be at least 500"},
    Reason{"\"zlibcompressionlevel\" of",
           "'s option zlibCompressionLevel must be a number from -1 to 9"},
    Reason{"invalid readpreferences",
           "'s options maxStalenessSeconds and readPreferenceTags need a readPreference other than "
           "primary"},
    Reason{"unsupported readpreference value",
           "'s option readPreference must be primary, primaryPreferred, secondary, "
           "secondaryPreferred or nearest"},
    Reason{"\"loadbalanced\" enabled",
           "'s option loadBalanced allows one host only, and neither replicaSet nor "
           "directConnection"},
    Reason{"multiple seeds", "'s option directConnection allows one host only"},
    Reason{"unsupported w value", "'s option w must be a number from 0 on, majority or a tag"},
    Reason{"requires username", "'s option authMechanism needs a user"},
};

/// Never quotes the driver's message, which may quote a part of the URI.
[[noreturn]] void RefuseAs(const std::string& message, string_view options) {
  const std::string said = Lower(message);
  const auto reason = std::find_if(kReasons.begin(), kReasons.end(), [&](const Reason& known) {
    return said.find(known.driver) != said.npos;
  });
  if (reason != kReasons.end()) Refuse(reason->ours);
  constexpr std::size_t kShortest = 4;  // "w" is in many words
  const std::string given = Lower(options);
  for (const string_view name : kKnown) {
    if (name.size() < kShortest || said.find(name) == said.npos) continue;
    if (given.find(std::string(name) + '=') == given.npos) continue;
    Refuse(" is refused by the driver for its option " + std::string(name));
  }
  Refuse(
      " is not valid: write mongodb://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?NAME=VALUE with "
      "other characters than letters, digits and -._~ in user and password percent-encoded");
}

}  // namespace

UriPtr ParseUri(const std::string& text, const MongodbStoreOptions& options) {
  if (text.find('\0') != text.npos) Refuse(" holds NUL");
  CheckOptions(OptionsOf(text), options);
  CheckCredentials(text);
  CheckPlaces(text);
  CheckEscapes(text);
  bson_error_t error;
  UriPtr uri(mongoc_uri_new_with_error(text.c_str(), &error), &mongoc_uri_destroy);
  if (!uri) RefuseAs(error.message, OptionsOf(text));
  return uri;
}

namespace {

using std::string_view;

constexpr string_view kNeverInDatabase = "/\\. \"$*<>:|?";

/// What stands behind the user, up to the options.
string_view PlacesOf(string_view uri) {
  uri = uri.substr(0, uri.find('?'));
  const std::size_t scheme = uri.find("://");
  uri.remove_prefix(scheme == uri.npos ? uri.size() : scheme + 3);
  const std::size_t user = uri.find('@');
  if (user != uri.npos) uri.remove_prefix(user + 1);
  return uri;
}

/// From the ':' on. An IPv6 address holds others, within brackets.
string_view PortOf(string_view server) {
  const std::size_t bracket = server.starts_with('[') ? server.find(']') : 0;
  const std::size_t colon = server.find(':', bracket);
  return colon == server.npos ? string_view() : server.substr(colon);
}

bool IsPort(string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return error == std::errc() && end == digits.data() + digits.size() && port > 0;
}

/// Brackets stand around an IPv6 address, behind which there is nothing but a port.
bool HasStrayBracket(string_view server) {
  if (server.starts_with('[')) {
    const std::size_t end = server.find(']');
    if (end == server.npos || server.substr(1, end).find('[') != server.npos) return true;
    server.remove_prefix(end + 1);
    if (!server.empty() && server.front() != ':') return true;
  }
  return server.find_first_of("[]") != server.npos;
}

/// libmongoc takes other characters or reads them in ways of its own: it drops a backslash.
bool MayBeInHost(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         string_view("-._~%:[]").find(c) != string_view::npos;
}

std::string WhatIsWrongWithServer(string_view server, bool srv) {
  if (!std::all_of(server.begin(), server.end(), MayBeInHost)) {
    return " has a server with a character that no host's name may have; escape it as %XX";
  }
  if (HasStrayBracket(server)) return " has brackets elsewhere than around an IPv6 address";
  const string_view port = PortOf(server);
  if (server.size() == port.size()) return " names a server without a host";
  if (port.empty()) return {};
  if (srv) return " has a port, which a mongodb+srv: URI cannot";
  return IsPort(port.substr(1)) ? "" : "'s port must be a whole number from 1 to 65535";
}

/// With the escapes as the characters that they stand for, as far as those are ASCII's.
std::string Unescaped(string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char code = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      plain += static_cast<char>(code);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::string WhatIsWrongWithServers(string_view uri) {
  const bool srv = uri.starts_with("mongodb+srv:");
  string_view servers = PlacesOf(uri);
  servers = servers.substr(0, servers.find('/'));
  if (servers.empty()) return " names no host: mongodb://HOST/DATABASE";
  if (srv && servers.find(',') != servers.npos) {
    return " names more than one host, which a mongodb+srv: URI cannot";
  }
  for (;;) {
    const std::size_t end = std::min(servers.find(','), servers.size());
    std::string wrong = WhatIsWrongWithServer(servers.substr(0, end), srv);
    if (!wrong.empty() || end == servers.size()) return wrong;
    servers.remove_prefix(end + 1);
  }
}

std::string WhatIsWrongWithDatabase(string_view uri) {
  const string_view places = PlacesOf(uri);
  const std::size_t slash = places.find('/');
  const std::string database = slash == places.npos ? "" : Unescaped(places.substr(slash + 1));
  if (database.empty()) return " names no database: mongodb://HOST/DATABASE";
  if (database.find_first_of(kNeverInDatabase) != database.npos) {
    return "'s name of a database holds a character that none may have, as '.', '/' or a space";
  }
  return {};
}

}  // namespace doclock::mongodb
