#pragma once

#include <string>
#include <vector>

#include "saga.h"
#include "supervisor.h"

namespace order_saga {

/// Proves that every step of every saga was done exactly once, from the store and from what the
/// workers wrote down; gives everything that is wrong, each naming its saga.
std::vector<std::string> Audit(const std::vector<Saga>& input, const SagaRepository& sagas,
                               const Place& place, int workers);

}  // namespace order_saga
