#pragma once

#include "options.h"

namespace order_saga {

/// A worker process: does steps until the supervisor closes the pipe. Gives the exit status.
int RunWorker(const WorkerOptions& options);

}  // namespace order_saga
