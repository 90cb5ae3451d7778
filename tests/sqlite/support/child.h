#pragma once

#include "process/child.h"

namespace doclock::sqlite_test {

using test::Child;

}  // namespace doclock::sqlite_test
