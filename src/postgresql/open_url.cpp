#include "postgresql/open_url.h"

#include <string>

#include "doclock/postgresql_store.h"

namespace doclock {

std::shared_ptr<Store> OpenPostgresqlUrl(std::string_view url, OpenMode) {
  return OpenPostgresqlStore(std::string(url));
}

}  // namespace doclock
