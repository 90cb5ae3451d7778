#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doclock/store.h"
#include "sqlite/schema/table_names.h"

namespace doclock::sqlite {

/// The fields of an index as people write them: "a,b.c".
std::string FieldList(const IndexSpec& spec);

/// What our index over these fields is called.
std::string IndexName(std::string_view collection, const IndexSpec& spec);

/// The field list of an index by its name; of foreign indexes, the name itself.
std::string FieldsOfIndex(const std::string& index_name);

}  // namespace doclock::sqlite
