#pragma once

#include <string>
#include <string_view>

namespace doclock::mongodb {

/// The privileges that a user needs for this command, as text for messages. (The server's own text
/// quotes the command, and with it the body.)
std::string MissingPrivilege(std::string_view command, const std::string& database,
                             std::string_view collection);

}  // namespace doclock::mongodb
