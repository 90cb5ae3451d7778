#pragma once

#include <string>

namespace doclock::cli {

/// Why a text that is JSON would not be stored as it stands: a whole number beyond 64 bits, which
/// would be rounded, or two members of one name, of which one would vanish. Empty: nothing does.
std::string LossIn(const std::string& text);

}  // namespace doclock::cli
