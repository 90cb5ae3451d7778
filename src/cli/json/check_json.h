#pragma once

#include <string>

namespace doclock::cli {

/// Why a text cannot be stored as it stands; empty: it can. It may be no JSON, with the place where
/// it ceases to be. Of JSON a whole number beyond 64 bits would be rounded, and of two members of
/// one name one would vanish.
std::string FaultIn(const std::string& text);

}  // namespace doclock::cli
