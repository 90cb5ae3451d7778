#pragma once

#include <span>
#include <string_view>

#include "doclock/export.h"
#include "doclock/open_store.h"

namespace doclock {

/// A scheme of a store that is part of this build.
struct BuiltInScheme {
  std::string_view scheme;
  std::string_view example;  ///< A URL, as messages show it.
  std::shared_ptr<Store> (*open)(std::string_view url, OpenMode mode);
};

/// Those that the stores' folders named (doclock_open_urls in cmake/DoclockStore.cmake).
DOCLOCK_EXPORT std::span<const BuiltInScheme> BuiltInSchemes() noexcept;

}  // namespace doclock
