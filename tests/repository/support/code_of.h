#pragma once

#include <optional>
#include <stdexcept>
#include <utility>

#include "doclock/errors.h"

namespace doclock {

/// The exception of this type that `f` throws. Without one the test fails.
template <class E, class F>
E ThrownBy(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const E& error) {
    return error;
  }
  throw std::logic_error("nothing was thrown");
}

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
