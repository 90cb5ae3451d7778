#include "postgresql/url.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace doclock::postgresql {
namespace {

using Options = std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)>;

/// The option of this name, by the URL or else the environment; empty if neither has it.
std::string ValueOf(const Options& options, std::string_view name) {
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->keyword != name) continue;
    const char* const environment = option->envvar != nullptr ? std::getenv(option->envvar) : "";
    if (option->val != nullptr) return option->val;
    return environment != nullptr ? environment : "";
  }
  return {};
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

}  // namespace

Url ParseUrl(const std::string& text) {
  const Options options(PQconninfoParse(text.c_str(), nullptr), PQconninfoFree);
  const bool is_url = text.starts_with("postgresql://") || text.starts_with("postgres://");
  if (!options || !is_url) {
    throw std::invalid_argument(
        "doclock: the URL is not one of PostgreSQL: postgresql://HOST/DATABASE");
  }
  const auto names = Parts(ValueOf(options, "host"));
  const auto addresses = Parts(ValueOf(options, "hostaddr"));
  // A service's hosts stand in a file, which may name any.
  const bool is_local =
      AreThisMachine(names) && AreThisMachine(addresses) && ValueOf(options, "service").empty();
  return {text, HostsOf(names, addresses, Parts(ValueOf(options, "port"))),
          !is_local && ValueOf(options, "sslmode").empty()};
}

}  // namespace doclock::postgresql
