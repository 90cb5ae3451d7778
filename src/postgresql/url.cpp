#include "postgresql/url.h"

#include <libpq-fe.h>

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

/// Of a list of hosts.
bool IsThisMachine(std::string_view hosts) {
  for (;;) {
    const std::string_view host = hosts.substr(0, hosts.find(','));
    const bool is_local = host.empty() || host.front() == '/' || host == "localhost" ||
                          host.starts_with("127.") || host == "::1";
    if (!is_local) return false;
    if (host.size() == hosts.size()) return true;
    hosts.remove_prefix(host.size() + 1);
  }
}

}  // namespace

Url ParseUrl(const std::string& text) {
  const Options options(PQconninfoParse(text.c_str(), nullptr), PQconninfoFree);
  const bool is_url = text.starts_with("postgresql://") || text.starts_with("postgres://");
  if (!options || !is_url) {
    throw std::invalid_argument(
        "doclock: the URL is not one of PostgreSQL: postgresql://HOST/DATABASE");
  }
  const bool is_local =
      IsThisMachine(ValueOf(options, "host")) && IsThisMachine(ValueOf(options, "hostaddr"));
  return {text, !is_local && ValueOf(options, "sslmode").empty()};
}

}  // namespace doclock::postgresql
