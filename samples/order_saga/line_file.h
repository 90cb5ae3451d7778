#pragma once

#include <nlohmann/json.hpp>

namespace order_saga {

/// Appends one line with one write, so that a process that is killed leaves whole lines.
/// @throws std::system_error
void AppendLine(int descriptor, const nlohmann::json& line);

}  // namespace order_saga
