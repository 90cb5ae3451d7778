#pragma once

#include <functional>
#include <memory>
#include <string>

#include "doclock/lock_provider.h"

namespace doclock::cli {

/// `doclock top`.
struct TopOptions {
  std::string collection;
  std::string prefix;
  std::string sort = "age";  ///< One of kTopOrders.
  Duration interval = std::chrono::seconds(2);
  bool json = false;
};

/// Shows the locks on the whole terminal until the user quits. Returns the program's exit code.
/// @param open opens the store; called when there is a terminal
/// @throws std::invalid_argument if there is no terminal, or this build has no terminal library
int Top(const std::function<std::shared_ptr<Store>()>& open, const TopOptions& options);

}  // namespace doclock::cli
