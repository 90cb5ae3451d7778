#include "cli/store/driver.h"

#include <cstdlib>

#include "doclock/open_store.h"
#include "open/store_module.h"
#if defined(DOCLOCK_CLI_LINKS_MONGODB) || defined(DOCLOCK_CLI_LOADS_MONGODB)
#define DOCLOCK_CLI_HAS_MONGODB
#endif

namespace doclock::cli {
namespace {

#ifdef DOCLOCK_CLI_HAS_MONGODB
bool IsOnMongodb(std::string_view url) noexcept { return url.starts_with("mongodb"); }

const StoreModule& Mongodb() {
#ifdef DOCLOCK_CLI_LINKS_MONGODB
  return doclock_store_module;
#else
  return LoadStoreModule("mongodb");
#endif
}
#endif

#ifdef DOCLOCK_CLI_LOADS_MONGODB
/// While it lives, libmongoc neither makes its file of counters nor warns of one that a killed
/// process left there: it does so while it is loaded, before its log can be turned off.
class WithoutCounters {
 public:
  WithoutCounters() noexcept : set_(std::getenv(kVariable) == nullptr) {
    if (set_) ::setenv(kVariable, "1", 1);
  }
  WithoutCounters(const WithoutCounters&) = delete;
  WithoutCounters& operator=(const WithoutCounters&) = delete;
  ~WithoutCounters() {
    if (set_) ::unsetenv(kVariable);
  }

 private:
  static constexpr const char* kVariable = "MONGOC_DISABLE_SHM";
  const bool set_;
};
#endif

}  // namespace

void PrepareDriver([[maybe_unused]] std::string_view url) noexcept {
#ifdef DOCLOCK_CLI_LOADS_MONGODB
  if (!IsOnMongodb(url)) return;
  try {
    const WithoutCounters quiet;
    Mongodb().silence_driver();
  } catch (...) {  // it is missing, or memory ran out: opening the store says so
  }
#endif
}

std::shared_ptr<Store> OpenPatiently(const std::string& url, OpenMode mode,
                                     [[maybe_unused]] std::optional<Duration> patience) {
#ifdef DOCLOCK_CLI_HAS_MONGODB
  if (patience && IsOnMongodb(url)) return Mongodb().open(url, mode, patience);
#endif
  return OpenStore(url, mode);
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
#ifdef DOCLOCK_CLI_HAS_MONGODB
  if (IsMissing("mongodb")) return std::nullopt;
  return Mongodb().driver_version();
#else
  return std::nullopt;
#endif
}

}  // namespace doclock::cli
