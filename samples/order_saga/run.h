#pragma once

#include "options.h"

namespace order_saga {

/// The whole run: reads, starts, watches, audits, prints. Gives the exit status.
int Run(const Options& options);

}  // namespace order_saga
