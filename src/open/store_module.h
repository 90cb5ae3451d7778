#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "doclock/export.h"
#include "doclock/open_store.h"
#include "doclock/time.h"

namespace doclock {

/// A store in a library that is loaded at run time, and what the command needs of it. The library
/// defines it as `doclock_store_module`. `build` stays first: it is read before the rest is known
/// to fit.
struct StoreModule {
  const char* build;
  /// Opens a store as a StoreOpener does.
  /// @param patience how long to wait for a server; none: as long as the store does by itself
  std::shared_ptr<Store> (*open)(std::string_view url, OpenMode mode,
                                 std::optional<Duration> patience);
  /// Returns the driver's own version, for `doclock --version`; null: it is left out there.
  const char* (*driver_version)();
  /// Keeps the driver from printing anything, in the whole process; null: it never does.
  void (*silence_driver)();
};

/// Loads the module of a store, once in each process. It is looked for beside the program or shared
/// library that this function is in, and nowhere else. Thread-safe.
/// @throws StoreException kRefused if it is not installed, cannot be loaded, is of another build of
/// doclock, or if the process has more rights than its user (set-user-ID).
DOCLOCK_EXPORT const StoreModule& LoadStoreModule(std::string_view store);

}  // namespace doclock

extern "C" DOCLOCK_EXPORT const doclock::StoreModule doclock_store_module;
