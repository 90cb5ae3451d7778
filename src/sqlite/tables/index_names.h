#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doclock/store/store.h"
#include "sqlite/tables/names.h"

namespace doclock::sqlite {

/// The name of this library's index over these fields.
std::string IndexName(std::string_view collection, const IndexSpec& spec);

/// The field list of an index of this library, from its name; the name itself of a foreign index.
std::string FieldsOfIndex(const std::string& index_name);

}  // namespace doclock::sqlite
