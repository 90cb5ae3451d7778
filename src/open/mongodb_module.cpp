/// The store on MongoDB for programs that load it, and for a command that is linked to it.

#include <mongoc/mongoc.h>

#include <algorithm>
#include <string>

#include "doclock/mongodb_store.h"
#include "open/store_module.h"

namespace {

std::shared_ptr<doclock::Store> OpenByUrl(std::string_view url, doclock::OpenMode,
                                          std::optional<doclock::Duration> patience) {
  doclock::MongodbStoreOptions options;
  if (patience) {
    options.server_selection_timeout = std::min(options.server_selection_timeout, *patience);
  }
  return doclock::OpenMongodbStore(std::string(url), options);
}

void SilenceLog() { mongoc_log_set_handler(nullptr, nullptr); }

}  // namespace

const doclock::StoreModule doclock_store_module{
    DOCLOCK_MODULE_BUILD,
    &OpenByUrl,
    &mongoc_get_version,
    &SilenceLog,
};
