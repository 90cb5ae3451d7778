#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/json/document_line.h"
#include "doclock/errors.h"
#include "doclock/filter.h"
#include "doclock/lock_manager.h"

namespace doclock::cli {

/// Options that select documents: of `list` and `export`.
struct SearchOptions {
  std::string collection;
  std::vector<std::string> conditions;  ///< --where
  std::string order;                    ///< --order-by
  bool descending = false;
  std::int64_t limit = 0;  ///< 0: none.
  bool free = false;       ///< Only documents that are not locked.
  bool locked = false;     ///< Only documents that are.
};

/// @throws std::invalid_argument naming the option
Filter FilterOf(const SearchOptions& options);

/// Shows the documents to `sink`, until it returns false, without keeping them in memory. The sink
/// may not use the store.
/// @param unreadable is asked to go on after a document whose body cannot be read, as a sink is;
/// without it the search ends there. The exception has the document's key.
/// @throws what the library throws
void ForEachDocument(const LockManager& manager, const SearchOptions& options,
                     const std::function<bool(const DocumentLine&)>& sink,
                     const std::function<bool(const DocumentException&)>& unreadable = {});

}  // namespace doclock::cli
