#pragma once

#include <optional>
#include <utility>

#include "doclock/errors.h"

namespace doclock {

/// The code of the Error that `f` throws.
template <class F>
std::optional<Errc> CodeOf(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const Error& error) {
    return error.errc();
  }
  return std::nullopt;
}

}  // namespace doclock
