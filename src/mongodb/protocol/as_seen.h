#pragma once

#include <string>

#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

/// A condition of a filter: the field is as this document shows it, by value, type and presence. A
/// comparison alone takes an array for each of its elements, null for a missing field, and one type
/// of number for another.
void AddAsSeen(Doc& filter, const std::string& field, const bson_t& seen);

}  // namespace doclock::mongodb
