#pragma once

#include <memory>
#include <string_view>

#include "doclock/export.h"
#include "doclock/open_store.h"

namespace doclock {

/// Opens `memory:`; see StoreOpener.
DOCLOCK_EXPORT std::shared_ptr<Store> OpenMemoryUrl(std::string_view url, OpenMode mode);

}  // namespace doclock
