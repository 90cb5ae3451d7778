#pragma once

#include "doclock/filter.h"
#include "words.h"

namespace doclock::conformance::script {

/// The words of a filter: an object of the fields that must be equal, and conditions.
inline constexpr const char* kFilterUsage =
    "[{FIELDS}] [not|below|at-most|above|at-least {FIELDS}] [free|locked] "
    "[order|order-down FIELD] [first N]";

/// Reads the words of a filter.
Filter FilterOf(Words& words);

}  // namespace doclock::conformance::script
