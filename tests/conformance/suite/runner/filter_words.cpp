#include "filter_words.h"

namespace doclock::conformance::script {
namespace {

using Condition = Filter& (Filter::*)(std::string_view, detail::FilterValue) &;

}  // namespace

Filter FilterOf(Words& words) {
  static constexpr std::pair<const char*, Condition> kConditions[] = {
      {"not", &Filter::NotEqual},  {"below", &Filter::Less},       {"at-most", &Filter::AtMost},
      {"above", &Filter::Greater}, {"at-least", &Filter::AtLeast},
  };
  Filter filter;
  for (const auto& [name, condition] : kConditions) {
    while (const auto text = words.After(name)) {
      const std::optional<Json> fields = Words({*text}).Object();
      if (!fields) throw ScriptError("{FIELDS} are missing behind " + Quoted(name));
      for (const auto& [field, value] : fields->items()) (filter.*condition)(field, value);
    }
  }
  if (const auto equal = words.Object()) {
    for (const auto& [field, value] : equal->items()) filter.Equal(field, value);
  }
  if (words.Flag("free")) filter.Free();
  if (words.Flag("locked")) filter.Locked();
  if (const auto field = words.After("order")) filter.OrderBy(*field);
  if (const auto field = words.After("order-down")) filter.OrderByDescending(*field);
  if (const auto count = words.NumberAfter("first")) filter.Limit(*count);
  return filter;
}

}  // namespace doclock::conformance::script
