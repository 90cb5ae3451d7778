#pragma once

#include "doclock/outbox.h"

namespace doclock::detail {

/// @throws std::invalid_argument naming the field
void Check(const DispatchOptions& options);

}  // namespace doclock::detail
