#include "cli/commands/commands.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/output/exit_codes.h"
#include "cli/store/driver.h"
#include "cli/store/store_url.h"
#include "open/built_in_schemes.h"

namespace doclock::cli {

int VersionJson() {
  const std::optional<std::string> libmongoc = DriverVersion();
  nlohmann::json stores = nlohmann::json::array();
  for (const BuiltInScheme& store : BuiltInSchemes()) {
    if (IsShared(store) && !IsMissing(store.scheme)) stores.push_back(store.scheme);
  }
  nlohmann::json version{{"version", DOCLOCK_VERSION}, {"stores", stores}};
  if (libmongoc) version["libmongoc"] = *libmongoc;
  std::cout << version.dump() << '\n';
  return kOk;
}

}  // namespace doclock::cli
