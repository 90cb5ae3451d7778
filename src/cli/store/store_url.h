#pragma once

#include <memory>
#include <string>

#include "doclock/lock_manager.h"
#include "open/built_in_schemes.h"

namespace doclock::cli {

/// The options that name the store. A URL may hold a password: it is read from a file, or
/// overwritten where other programs could see it (`ps`, /proc), and never printed.
struct StoreChoice {
  std::string url;   ///< --store
  std::string file;  ///< --store-file
};

/// Overwrites the value of --store in the program's arguments and that of DOCLOCK_STORE in its
/// environment, and removes the variable; returns its value.
std::string HideStoreUrl(int argc, char** argv);

/// A URL, and the option or variable that it came from.
struct StoreUrl {
  std::string url;
  std::string source;
};

/// The URL: --store, else --store-file, else the environment's.
/// @throws std::invalid_argument if there is none, or the file cannot be read
StoreUrl UrlOf(const StoreChoice& choice, const std::string& from_environment);

/// Can several processes use such a store? memory: is for one.
bool IsShared(const BuiltInScheme& store) noexcept;

/// Checks that other processes can share the store.
/// @throws std::invalid_argument if not, naming those of this build
void CheckShared(const StoreUrl& chosen);

}  // namespace doclock::cli
