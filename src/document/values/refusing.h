#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "doclock/json/value_error.h"

namespace doclock::detail {

/// What `read` makes of this value. Its exception carries the value, so that the member can be
/// named.
template <class Read>
auto Refusing(const nlohmann::json& value, const Read& read) {
  try {
    return read();
  } catch (const JsonValueError&) {
    throw;
  } catch (const std::invalid_argument& error) {
    throw JsonValueError(value, error.what());
  }
}

}  // namespace doclock::detail
