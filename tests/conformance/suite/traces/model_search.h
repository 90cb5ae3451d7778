#pragma once

#include "content.h"

namespace doclock::conformance {

// What Filter says of searches, once more and on its own: for the few kinds of value that the
// bodies of traces have in the fields which are searched.

/// Does a body meet the condition?
bool Meets(const Json& body, const Search& search);

/// Does `a` come before `b`? Neither: the keys decide.
bool ComesBefore(const Json& a, const Json& b, const Search& search);

}  // namespace doclock::conformance
