#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "doclock/duration.h"
#include "doclock/store/opener.h"

namespace doclock::cli {

/// Loads what the URL's store needs, and keeps it from printing anything. Leaves it to opening to
/// report what fails. Call it before there are threads, because it changes the environment for a
/// moment.
void PrepareDriver(std::string_view url) noexcept;

/// Opens a store, and waits for a server no longer than `patience`.
/// @throws what OpenStore throws
std::shared_ptr<Store> OpenPatiently(const std::string& url, OpenMode mode,
                                     std::optional<Duration> patience);

/// Is the store of this scheme a module that is not installed?
bool IsMissing(std::string_view scheme) noexcept;

/// The version of libmongoc. None: this build has no store on MongoDB, or its module is not
/// installed.
std::optional<std::string> DriverVersion();

}  // namespace doclock::cli
