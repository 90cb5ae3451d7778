#include "cli/store/driver.h"

#include <cstdlib>
#include <stdexcept>

#include "doclock/open_store.h"
#include "open/store_module.h"

namespace doclock::cli {
namespace {

#ifdef DOCLOCK_CLI_LOADS_MONGODB
bool IsOnMongodb(std::string_view url) noexcept { return url.starts_with("mongodb"); }

const StoreModule& Mongodb() { return LoadStoreModule("mongodb"); }
#endif

}  // namespace

void PrepareDriver([[maybe_unused]] std::string_view url) noexcept {
#ifdef DOCLOCK_CLI_LOADS_MONGODB
  if (!IsOnMongodb(url)) return;
  // While it is loaded, libmongoc would make its file of counters, and warn of one that a killed
  // process left there, before its log can be turned off.
  constexpr const char* kVariable = "MONGOC_DISABLE_SHM";
  const bool is_set = std::getenv(kVariable) != nullptr;
  if (!is_set) ::setenv(kVariable, "1", 1);
  try {
    Mongodb().silence_driver();
  } catch (...) {  // it is missing, or memory ran out: opening the store says so
  }
  if (!is_set) ::unsetenv(kVariable);
#endif
}

std::shared_ptr<Store> OpenChosen(const StoreUrl& chosen, OpenMode mode,
                                  [[maybe_unused]] std::optional<Duration> patience) {
  CheckShared(chosen);
  try {
#ifdef DOCLOCK_CLI_LOADS_MONGODB
    if (patience && IsOnMongodb(chosen.url)) return Mongodb().open(chosen.url, mode, patience);
#endif
    return OpenStore(chosen.url, mode);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(chosen.source + ": " + error.what());
  }
}

bool IsMissing([[maybe_unused]] std::string_view scheme) noexcept {
  try {
#ifdef DOCLOCK_CLI_LOADS_MONGODB
    if (IsOnMongodb(scheme)) {
      PrepareDriver("mongodb:");
      static_cast<void>(Mongodb());
    }
#endif
#ifdef DOCLOCK_CLI_LOADS_POSTGRESQL
    if (scheme.starts_with("postgres")) static_cast<void>(LoadStoreModule("postgresql"));
#endif
    return false;
  } catch (...) {
    return true;
  }
}

std::optional<std::string> DriverVersion() {
#ifdef DOCLOCK_CLI_LOADS_MONGODB
  if (IsMissing("mongodb")) return std::nullopt;
  return Mongodb().driver_version();
#else
  return std::nullopt;
#endif
}

}  // namespace doclock::cli
