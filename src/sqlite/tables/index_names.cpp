#include "sqlite/tables/index_names.h"

namespace doclock::sqlite {
namespace {

constexpr std::string_view kPlainPrefix = "doclock_i_";
constexpr std::string_view kUniquePrefix = "doclock_u_";

}  // namespace

std::string IndexName(std::string_view collection, const IndexSpec& spec) {
  std::string name =
      std::string(spec.unique ? kUniquePrefix : kPlainPrefix) + CaseSafe(collection) + ":";
  for (const std::string& field : spec.fields) {
    if (&field != &spec.fields.front()) name += ',';
    for (const char c : CaseSafe(field)) {
      if (c == ',') name += '^';  // a comma of the field's own
      name += c;
    }
  }
  return name;
}

std::string FieldsOfIndex(const std::string& index_name) {
  const std::size_t colon = index_name.find(':');
  if (colon == std::string::npos || !index_name.starts_with(kUniquePrefix)) return index_name;
  return OriginalCase(std::string_view(index_name).substr(colon + 1));
}

}  // namespace doclock::sqlite
