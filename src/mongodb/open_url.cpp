#include "mongodb/open_url.h"

#include <string>

#include "doclock/mongodb_store.h"

namespace doclock {

std::shared_ptr<Store> OpenMongodbUrl(std::string_view url, OpenMode) {
  return OpenMongodbStore(std::string(url));
}

}  // namespace doclock
