/// The store on PostgreSQL for programs that load it.

#include <libpq-fe.h>

#include <string>

#include "open/store_module.h"
#include "postgresql/open_url.h"

namespace {

// Opening has a time of its own, see OpenPostgresqlStore.
std::shared_ptr<doclock::Store> OpenByUrl(std::string_view url, doclock::OpenMode mode,
                                          std::optional<doclock::Duration>) {
  return doclock::OpenPostgresqlUrl(url, mode);
}

const char* VersionOfDriver() {
  static const auto* const version = new std::string(std::to_string(PQlibVersion() / 10000) + '.' +
                                                     std::to_string(PQlibVersion() % 10000));
  return version->c_str();
}

void Nothing() {}  // libpq prints nothing by itself

}  // namespace

const doclock::StoreModule doclock_store_module{
    DOCLOCK_MODULE_BUILD,
    &OpenByUrl,
    &VersionOfDriver,
    &Nothing,
};
