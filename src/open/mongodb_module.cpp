/// The store on MongoDB for programs that load it, and for a command that is linked to it.

#include <mongoc/mongoc.h>

#include "mongodb/open_url.h"
#include "open/store_module.h"

namespace {

void SilenceLog() { mongoc_log_set_handler(nullptr, nullptr); }

}  // namespace

const doclock::StoreModule doclock_store_module{
    DOCLOCK_MODULE_BUILD,
    &doclock::OpenMongodbUrl,
    &mongoc_get_version,
    &SilenceLog,
};
