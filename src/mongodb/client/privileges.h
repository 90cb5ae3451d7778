#pragma once

#include <string>
#include <string_view>

namespace doclock::mongodb {

/// For people: what a user who may not run this command has to be granted. (The server's own words
/// quote the command, and with it the body.)
std::string MissingPrivilege(std::string_view command, const std::string& database,
                             std::string_view collection);

}  // namespace doclock::mongodb
