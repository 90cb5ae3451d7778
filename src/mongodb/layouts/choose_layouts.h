#pragma once

#include <map>
#include <string>

#include "mongodb/layouts/layout_store.h"

namespace doclock::mongodb {

/// The layouts of MongodbStoreOptions::layouts. @throws std::invalid_argument for a name that is
/// none
Layouts LayoutsOf(const std::map<std::string, std::string>& named);

/// Moves the options doclockLayout=COLLECTION:LAYOUT, which the driver does not know, out of a URI
/// and into `named`. @throws std::invalid_argument for one that is not of this form; the text
/// repeats no part of the URI
std::string WithoutLayouts(const std::string& uri, std::map<std::string, std::string>& named);

}  // namespace doclock::mongodb
