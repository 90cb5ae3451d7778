#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "doclock/export.h"
#include "doclock/open_store.h"
#include "doclock/time.h"

namespace doclock {

/// Opens `mongodb:...` and `mongodb+srv:...`; see StoreOpener.
DOCLOCK_EXPORT std::shared_ptr<Store> OpenMongodbUrl(std::string_view url, OpenMode mode);

/// As above.
/// @param patience how long to wait for a server; none: as long as the store does by itself
DOCLOCK_EXPORT std::shared_ptr<Store> OpenMongodbUrl(std::string_view url, OpenMode mode,
                                                     std::optional<Duration> patience);

}  // namespace doclock
