#pragma once

#include <memory>

#include "doclock/clock.h"
#include "doclock/store.h"

namespace doclock {

/// An empty database on the tests' replica set, dropped with the store. With a clock, locks age as
/// that clock goes, and not as the server's does.
std::shared_ptr<Store> OpenMongodb(std::shared_ptr<const Clock> clock);

}  // namespace doclock
