#include "mongodb/uri/uri_places.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace doclock::mongodb {
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
bool IsOfServer(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         string_view("-._~%:[]").find(c) != string_view::npos;
}

std::string WhatIsWrongWithServer(string_view server, bool srv) {
  if (!std::all_of(server.begin(), server.end(), IsOfServer)) {
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
