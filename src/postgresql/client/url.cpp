#include "postgresql/client/url.h"

#include <libpq-fe.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "platform/plain_numbers.h"

namespace doclock::postgresql {
namespace {

using Options = std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)>;

const PQconninfoOption* Find(const Options& options, std::string_view name) {
  const PQconninfoOption* option = options.get();
  while (option->keyword != nullptr && option->keyword != name) ++option;
  return option->keyword != nullptr ? option : nullptr;
}

/// What libpq says of an option that it does not know; empty if that may be a part of a password.
std::string OfUnknownOption(const std::string& url, std::string_view said) {
  const std::size_t query = std::min(url.find('?'), url.size());
  const bool is_safe = said.starts_with("invalid URI query parameter") &&
                       url.find_first_of("@%", query) == url.npos &&
                       url.find("password", query) == url.npos;
  return is_safe ? ": " + std::string(said.substr(0, said.find('\n'))) : "";
}

bool HasValue(const Options& options, std::string_view name) {
  const PQconninfoOption* const option = Find(options, name);
  return option != nullptr && option->val != nullptr && *option->val != '\0';
}

/// The option of this name, by the URL or else the environment; empty if neither has it.
std::string ValueOf(const Options& options, std::string_view name) {
  const PQconninfoOption* const option = Find(options, name);
  if (option == nullptr) return {};
  if (option->val != nullptr) return option->val;
  const char* const environment = option->envvar != nullptr ? std::getenv(option->envvar) : "";
  return environment != nullptr ? environment : "";
}

/// The parts of a list; none of an empty one.
std::vector<std::string> Parts(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, end));
    if (end + 1 == list.size()) parts.emplace_back();
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

bool IsThisMachine(std::string_view host) {
  return host.empty() || host.front() == '/' || host == "localhost" || host.starts_with("127.") ||
         host == "::1";
}
bool AreThisMachine(const std::vector<std::string>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(), IsThisMachine);
}

/// libpq goes on to the next host when one is refused, but not when one is silent.
std::vector<Host> HostsOf(const std::vector<std::string>& names,
                          const std::vector<std::string>& addresses,
                          std::vector<std::string> ports) {
  const std::size_t count = std::max(names.size(), addresses.size());
  if (ports.size() == 1) ports.assign(count, std::string(ports.front()));
  for (std::string& port : ports) port = port.empty() ? "5432" : port;
  const auto is_whole = [&](const std::vector<std::string>& list) {
    return list.empty() || (list.size() == count && std::ranges::find(list, "") == list.end());
  };
  if (count < 2 || !is_whole(names) || !is_whole(addresses) || !is_whole(ports)) return {Host{}};
  std::vector<Host> hosts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [i](const auto& list) { return list.empty() ? "" : list[i]; };
    hosts.push_back({at(names), at(addresses), at(ports)});
  }
  return hosts;
}

/// Another password file, if libpq would pass over this one, and print why; else nothing.
const char* InsteadOfPassFile(const Options& options) {
  std::string path = ValueOf(options, "passfile");
  const char* const home = std::getenv("HOME");
  if (path.empty() && home != nullptr && PQlibVersion() >= 150000) {
    path = std::string(home) + "/.pgpass";  // older ones look in the account's home
  }
  struct stat file {};
  const bool is_there = ::stat(path.c_str(), &file) == 0;
  const bool counts = S_ISREG(file.st_mode) && (file.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  return !is_there || counts || !ValueOf(options, "service").empty() ? "" : "/dev/null/none";
}

/// What libpq would connect by now. It names no database if libpq refuses an option, or the
/// service. Connects to nothing: of the values of options libpq looks at this one of
/// target_session_attrs last.
Options OptionsNow(const std::string& url, const char* pass_file, bool verifies) {
  const char* const names[] = {"sslmode", "dbname", "passfile", "target_session_attrs", nullptr};
  const char* const values[] = {verifies ? "verify-full" : "", url.c_str(), pass_file, "unknown",
                                nullptr};
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(
      PQconnectStartParams(names, values, 1), PQfinish);
  return {PQconninfo(connection.get()), PQconninfoFree};
}

/// Those that are still in the environment's hands if they have no value. An empty one counts in a
/// connection string.
bool IsPinnedEmpty(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "host",      "hostaddr",    "password",     "options",
      "sslcert",   "sslkey",      "sslrootcert",  "sslcrl",
      "sslcrldir", "requirepeer", "require_auth", "ssl_max_protocol_version"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

/// The file that libpq takes without this option; empty: it has none, or does not ask $HOME.
std::string FileAtHome(const Options& options, std::string_view name) {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0' || PQlibVersion() < 150000) return {};
  const std::string folder = std::string(home) + "/.postgresql/";
  if (name == "sslrootcert") return folder + "root.crt";
  if (name == "sslcert") return folder + "postgresql.crt";
  if (name == "sslkey") return folder + "postgresql.key";
  if (name == "sslcrl" && !HasValue(options, "sslcrldir")) return folder + "root.crl";
  return {};
}

bool IsFile(std::string_view name, std::string_view value) {
  if (name == "sslkey") return value.find(':') == value.npos;  // else a key of an engine
  if (name == "sslrootcert") return value != "system";
  return name == "sslcert" || name == "sslcrl" || name == "sslcrldir" || name == "passfile";
}

std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  return error ? path : absolute;
}

/// The options as a connection string.
std::string Pinned(const Options& options) {
  std::string text;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    const std::string_view name = option->keyword;
    // What a service says is among the others.
    if (name == "service" || name == "servicefile" || name == "target_session_attrs") continue;
    std::string value = option->val != nullptr ? option->val : "";
    if (value.empty()) value = FileAtHome(options, name);
    if (value.empty() && option->val == nullptr && !IsPinnedEmpty(name)) continue;
    if (value.empty() && name == "sslpassword") continue;
    if (!value.empty() && IsFile(name, value)) value = Absolute(value);
    text.append(name).append("='");
    for (const char c : value) {
      if (c == '\'' || c == '\\') text += '\\';
      text += c;
    }
    text += "' ";
  }
  return text;
}

}  // namespace

Url ParseUrl(const std::string& text) {
  const platform::PlainNumbers english;
  char* error = nullptr;
  const Options options(PQconninfoParse(text.c_str(), &error), PQconninfoFree);
  const std::unique_ptr<char, void (*)(void*)> said(error, PQfreemem);
  const bool is_url = text.starts_with("postgresql://") || text.starts_with("postgres://");
  if (!options || !is_url) {
    throw std::invalid_argument(
        "doclock: the URL is not one of PostgreSQL: postgresql://HOST/DATABASE, with options that"
        " libpq knows" +
        OfUnknownOption(text, said ? said.get() : ""));
  }
  const auto names = Parts(ValueOf(options, "host"));
  const auto addresses = Parts(ValueOf(options, "hostaddr"));
  // A service's hosts stand in a file, which may name any.
  const bool is_local =
      AreThisMachine(names) && AreThisMachine(addresses) && ValueOf(options, "service").empty();
  const bool verifies = !is_local && ValueOf(options, "sslmode").empty();
  const Options now = OptionsNow(text, InsteadOfPassFile(options), verifies);
  const bool is_whole = now && HasValue(now, "dbname");
  return {is_whole ? Pinned(now) : text, HostsOf(names, addresses, Parts(ValueOf(options, "port"))),
          verifies};
}

}  // namespace doclock::postgresql
