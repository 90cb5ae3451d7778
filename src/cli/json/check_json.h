#pragma once

#include <string>

namespace doclock::cli {

/// Why a text cannot be stored as it stands; empty: it can. It may be no JSON, with the place where
/// it ceases to be. Of two members of one name one would vanish.
std::string FaultIn(const std::string& text);

}  // namespace doclock::cli
