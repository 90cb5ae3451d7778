#pragma once

#include <string>
#include <string_view>

namespace doclock::mongodb {

/// What is wrong with the servers of a URI, or with its database, as the end of a sentence that
/// begins with "the URI"; empty: nothing. Of what libmongoc would print a line on, without saying
/// which part it is. No part is repeated: a password may stand in any place.
std::string WhatIsWrongWithServers(std::string_view uri);
std::string WhatIsWrongWithDatabase(std::string_view uri);

}  // namespace doclock::mongodb
