#pragma once

/// @file
/// JsonValueError: a JSON value that the type of a member refuses.

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "doclock/export.h"

namespace doclock {

/// A JSON value that the type of a member refuses. Where a document is read, the DocumentException
/// names the member.
class DOCLOCK_EXPORT JsonValueError : public std::invalid_argument {
 public:
  /// `value` is the one that is refused.
  JsonValueError(const nlohmann::json& value, const std::string& what)
      : std::invalid_argument(what), value_(&value) {}

  /// The address of the value, to be compared only: the value may be gone.
  [[nodiscard]] const void* value() const noexcept { return value_; }

 private:
  const void* value_;
};

}  // namespace doclock
