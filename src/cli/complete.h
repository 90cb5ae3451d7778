#pragma once

#include <string>
#include <vector>

namespace doclock::cli {

/// Prints what the last of these words may become, one word a line, each with a tab and its meaning
/// if it has one; ":file" where a file is named, ":command" where a program is, and ":command N" if
/// the line of another program begins at `words[N]`. Prints nothing if there is nothing to
/// offer, as when the store does not answer. Returns the exit code.
/// @param words the name of this hidden command, and the words behind `doclock` up to the cursor
int Complete(const std::vector<std::string>& words, const std::string& from_environment);

}  // namespace doclock::cli
