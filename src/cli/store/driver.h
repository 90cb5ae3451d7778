#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/store/store_url.h"
#include "doclock/open_store.h"
#include "doclock/time.h"

namespace doclock::cli {

/// Loads what the URL's store needs, and keeps it from printing anything. Leaves it to opening to
/// report what fails. Call it before there are threads, because it changes the environment for a
/// moment.
void PrepareDriver(std::string_view url) noexcept;

/// Opens the store of a URL.
/// @param patience how long to wait for a server; none: as long as the store does by itself
/// @throws std::invalid_argument naming where the URL came from, StoreException
std::shared_ptr<Store> OpenChosen(const StoreUrl& chosen, OpenMode mode,
                                  std::optional<Duration> patience);

/// Is the store of this scheme a module that is not installed?
bool IsMissing(std::string_view scheme) noexcept;

/// The version of libmongoc. None: its module is not installed, or this build has none.
std::optional<std::string> DriverVersion();

}  // namespace doclock::cli
