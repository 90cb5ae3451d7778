#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json/document_line.h"
#include "cli/output/exit_codes.h"
#include "doclock/errors.h"
#include "doclock/filter.h"
#include "doclock/json/key.h"
#include "doclock/lock_manager.h"

namespace doclock::cli {

/// Options that select documents: of `list` and `export`.
struct SearchOptions {
  std::string collection;
  std::vector<std::string> conditions;  ///< --where
  std::string order;                    ///< --order-by
  bool descending = false;
  std::optional<std::string> after;  ///< --after: a key
  std::string key_type;              ///< --key-type; empty: left open
  std::int64_t limit = 0;            ///< 0: none.
  bool free = false;                 ///< Only documents that are not locked.
  bool locked = false;               ///< Only documents that are.
};

/// Adds COLLECTION and the options that select.
void AddSearch(CLI::App& sub, SearchOptions& search);

/// @throws std::invalid_argument naming the option
Filter FilterOf(const SearchOptions& options);

/// The store failed after some documents had been shown. The text tells how to go on.
struct Unfinished : Failure {
  explicit Unfinished(const std::string& text) : Failure(kUnfinished, text) {}
};

/// Shows the documents to `sink`, page by page, until it returns false. The sink may use the store,
/// and take its time.
/// @param unreadable is asked to go on after a document whose body cannot be read, as a sink is;
/// without it the search ends there. The exception has the document's key.
/// @throws Unfinished if the store fails, also in the sink, after documents were shown: the text
/// names the last one that was shown to its end
/// @throws what the library throws
void ForEachDocument(const LockManager& manager, const SearchOptions& options,
                     const std::function<bool(const DocumentLine&)>& sink,
                     const std::function<bool(const DocumentException&)>& unreadable = {});

}  // namespace doclock::cli
