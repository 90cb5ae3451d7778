#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "doclock/store/store.h"

namespace doclock {

/// May opening a store create what is missing?
enum class OpenMode : std::uint8_t {
  kAsTheUrlSays,  ///< What OpenStore(url) does.
  kExisting,      ///< Neither files nor collections are created, even if the URL asks for it: a
                  ///< missing collection is NotFoundException when it is opened.
  kUnchanged,     ///< As kExisting. Nor is anything completed: what is not complete is refused. To
                  ///< look at a store without leaving a trace.
};

/// Opens a store by its whole URL, scheme included. Called by several threads at once. Never
/// returns null.
/// @throws std::invalid_argument for a bad URL. The text names the error, and never repeats the
/// URL, which may hold a password. @throws StoreException
using StoreOpener = std::function<std::shared_ptr<Store>(std::string_view url, OpenMode mode)>;

}  // namespace doclock
