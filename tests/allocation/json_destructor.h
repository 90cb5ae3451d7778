#pragma once

namespace doclock::allocation_test {

/// Is the caller called by the destructor of a JSON tree? nlohmann's allocates (a stack, so as not
/// to recurse) and is noexcept: out of memory it ends the program, and this library cannot prevent
/// that.
bool InJsonDestructor() noexcept;

}  // namespace doclock::allocation_test
