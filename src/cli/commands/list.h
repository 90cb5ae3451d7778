#pragma once

#include "cli/store/search.h"

namespace doclock::cli {

/// `doclock list`.
struct ListOptions : SearchOptions {
  bool keys = false;  ///< Keys alone.
  bool json = false;
};

/// Prints the documents. Returns the program's exit code.
int List(const LockManager& manager, const ListOptions& options);

/// Prints the names of the collections. Returns the program's exit code.
int Collections(const LockManager& manager, bool as_json);

}  // namespace doclock::cli
