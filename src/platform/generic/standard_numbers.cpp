#include "platform/standard_numbers.h"

namespace doclock::platform {

StandardNumbersTaken::StandardNumbersTaken() noexcept = default;

StandardNumbersTaken::~StandardNumbersTaken() = default;

void StandardNumbersTaken::ForGood() noexcept {}

}  // namespace doclock::platform
