#include "memory/open_url.h"

#include <stdexcept>

#include "doclock/memory_store.h"

namespace doclock {

std::shared_ptr<Store> OpenMemoryUrl(std::string_view url, OpenMode) {
  if (url != "memory:") {
    throw std::invalid_argument("doclock: the URL memory: takes no path and no options");
  }
  return OpenMemoryStore();
}

}  // namespace doclock
