/// The store on PostgreSQL for programs that load it.

#include <libpq-fe.h>

#include <string>

#include "doclock/postgresql_store.h"
#include "open/store_module.h"

namespace {

// Opening has a time of its own, see OpenPostgresqlStore.
std::shared_ptr<doclock::Store> OpenByUrl(std::string_view url, doclock::OpenMode,
                                          std::optional<doclock::Duration>) {
  return doclock::OpenPostgresqlStore(std::string(url));
}

const char* VersionOfDriver() {
  static const std::string version =
      std::to_string(PQlibVersion() / 10000) + '.' + std::to_string(PQlibVersion() % 10000);
  return version.c_str();
}

void Nothing() {}  // libpq prints nothing by itself

}  // namespace

const doclock::StoreModule doclock_store_module{
    DOCLOCK_MODULE_BUILD,
    &OpenByUrl,
    &VersionOfDriver,
    &Nothing,
};
