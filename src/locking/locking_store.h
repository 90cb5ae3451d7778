#pragma once

#include <memory>

#include "doclock/export.h"
#include "doclock/store.h"
#include "locking/database.h"

namespace doclock::locking {

/// The store over a database: each of its functions is told once, here, by the rules.
DOCLOCK_EXPORT std::shared_ptr<Store> StoreOn(std::unique_ptr<Database> database);

}  // namespace doclock::locking
