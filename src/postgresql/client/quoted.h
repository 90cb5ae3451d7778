#pragma once

#include <string>
#include <string_view>

namespace doclock::postgresql {

/// A text in a statement; it has no U+0000.
std::string QuotedText(std::string_view text);
/// A name in a statement.
std::string QuotedName(std::string_view name);

}  // namespace doclock::postgresql
