#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "cli/store/store_url.h"
#include "doclock/open_store.h"

namespace doclock::cli {

/// Opens the store of a URL.
/// @param patience how long to wait for a server; none: as long as the store does by itself
/// @throws std::invalid_argument naming where the URL came from, StoreException
std::shared_ptr<Store> OpenChosen(const StoreUrl& chosen, OpenMode mode,
                                  std::optional<std::chrono::milliseconds> patience = {});

}  // namespace doclock::cli
