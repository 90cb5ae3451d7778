#pragma once

#include <bson/bson.h>

#include <string>
#include <string_view>

namespace doclock::mongodb {

/// The privileges that a user needs for this command, as text for messages. (The server's own text
/// quotes the command, and with it the body.)
std::string MissingPrivilege(std::string_view command, const std::string& database,
                             std::string_view collection);

/// Which of the actions that locks need a user lacks on a collection: "insert, remove". Empty:
/// none. `auth`: authInfo of the server's connectionStatus with showPrivileges.
std::string MissingActions(const bson_t& auth, const std::string& database,
                           const std::string& collection);

/// Is there a user in such an authInfo? (A server that asks for none has no privileges either.)
bool HasUser(const bson_t& auth);

}  // namespace doclock::mongodb
