#include "cli/store/open_chosen.h"

#include <stdexcept>

#include "cli/store/driver.h"

namespace doclock::cli {

std::shared_ptr<Store> OpenChosen(const StoreUrl& chosen, OpenMode mode,
                                  std::optional<std::chrono::milliseconds> patience) {
  CheckShared(chosen);
  try {
    return OpenPatiently(chosen.url, mode, patience);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(chosen.source + ": " + error.what());
  }
}

}  // namespace doclock::cli
