/// The store on PostgreSQL for programs that load it.

#include <string>

#include "open/store_module.h"
#include "postgresql/open_url.h"

namespace {

// Opening has a time of its own, see OpenPostgresqlStore.
std::shared_ptr<doclock::Store> OpenByUrl(std::string_view url, doclock::OpenMode mode,
                                          std::optional<doclock::Duration>) {
  return doclock::OpenPostgresqlUrl(url, mode);
}

}  // namespace

// libpq prints nothing by itself, and `doclock --version` leaves its version out.
const doclock::StoreModule doclock_store_module{DOCLOCK_MODULE_BUILD, &OpenByUrl, nullptr, nullptr};
