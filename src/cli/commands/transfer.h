#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cli/store/search.h"
#include "doclock/lock_manager.h"

namespace doclock::cli {

/// `doclock export` and `doclock import`.
struct TransferOptions : SearchOptions {
  std::string file = "-";  ///< "-": standard output, or input.
  bool create = false;     ///< import: leave documents alone that exist.
  KeyText key;  ///< import: the member with the key; its name is empty: what export wrote.
  Duration wait;
  Duration ttl = std::chrono::seconds(30);
  bool json = false;
};

// Each returns the program's exit code.
int Export(const LockManager& manager, const TransferOptions& options);
/// @param open opens the store; called when the file can be read
int Import(const std::function<std::shared_ptr<Store>()>& open, const TransferOptions& options);

}  // namespace doclock::cli
