#pragma once

namespace doclock::cli {

/// Prints the version of the program and of what it uses, as JSON. Returns the exit code.
int VersionJson();

}  // namespace doclock::cli
