#include "cli/store/search.h"

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cli/json/json_text.h"
#include "cli/options/options.h"
#include "doclock/json/key.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

using Add = Filter& (Filter::*)(std::string_view, detail::FilterValue) &;
/// The longer ones first: "<" begins "<=".
constexpr std::array<std::pair<std::string_view, Add>, 6> kComparisons{{{"!=", &Filter::NotEqual},
                                                                        {"<=", &Filter::AtMost},
                                                                        {">=", &Filter::AtLeast},
                                                                        {"=", &Filter::Equal},
                                                                        {"<", &Filter::Less},
                                                                        {">", &Filter::Greater}}};

/// JSON if it is, as 5, true or "5"; else a text.
/// @throws std::invalid_argument for JSON that would not be compared as it stands
json ValueOf(const std::string& text) {
  if (!json::accept(text)) return text;
  try {
    json value = ParseJson(text).tree;
    if (!value.is_number_float() || text.find_first_of(".eE") != text.npos) return value;
    throw BadData("the whole number " + text + " is beyond 64 bits");
  } catch (const BadData& error) {
    throw std::invalid_argument(error.what());
  }
}

/// The value that stands for the time of the store's clock. A text of these letters is in quotes.
constexpr std::string_view kNow = "now()";

Key KeyOf(const SearchOptions& options, std::string_view text) {
  return ParseKey(
      {std::string(text), options.key_type.empty() ? KeyText{}.type : options.key_type});
}

void AddCondition(Filter& filter, const SearchOptions& options, const std::string& condition) {
  const std::size_t at = condition.find_first_of("!<>=");
  if (at != condition.npos) {
    const std::string_view rest = std::string_view(condition).substr(at);
    for (const auto& [sign, add] : kComparisons) {
      if (!rest.starts_with(sign)) continue;
      const std::string_view field = std::string_view(condition).substr(0, at);
      const std::string value(rest.substr(sign.size()));
      if (sign == "<=" && value == kNow) return static_cast<void>(filter.Due(field));
      const bool has_type = field == Filter::kKeyField && !options.key_type.empty();
      (filter.*add)(field, has_type ? KeyToMember(KeyOf(options, value)) : ValueOf(value));
      return;
    }
  }
  throw std::invalid_argument("a condition is FIELD=VALUE; != < <= > and >= may replace =");
}

/// Calls `what`, and names the option in what it throws.
template <class F>
void Naming(const char* option, const F& what) {
  try {
    what();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string(option) + ": " + error.what());
  }
}

}  // namespace

void AddSearch(CLI::App& sub, SearchOptions& search) {
  AddCollectionArgument(sub, search.collection, "Collection of the documents");
  sub.add_option("--where", search.conditions,
                 "Condition, as status=queued, due<=10 or customer.name!=null; may be repeated")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false);
  CLI::Option* const order =
      AddAnything(sub, "--order-by", search.order, "Field to order by", "FIELD");
  sub.add_flag("--descending", search.descending, "With --order-by: highest value first")
      ->needs(order);
  sub.add_option("--after", search.after, "Only documents behind this key, in the order of keys")
      ->type_name("KEY");
  AddKeyType(sub, search.key_type);
  AddNumber(sub, "--limit", search.limit, "The largest number of documents", 1, kHighest);
  CLI::Option* const free =
      sub.add_flag("--free", search.free, "Only documents that are not locked");
  sub.add_flag("--locked", search.locked, "Only documents that are locked")->excludes(free);
}

Filter FilterOf(const SearchOptions& options) {
  Filter filter;
  for (const std::string& condition : options.conditions) {
    Naming("--where", [&] { AddCondition(filter, options, condition); });
  }
  if (!options.order.empty()) {
    Naming("--order-by", [&] {
      options.descending ? filter.OrderByDescending(options.order) : filter.OrderBy(options.order);
    });
  }
  if (options.after) Naming("--after", [&] { filter.After(KeyOf(options, *options.after)); });
  if (options.limit > 0) filter.Limit(options.limit);
  if (options.free) filter.Free();
  if (options.locked) filter.Locked();
  if (filter.after() && !filter.order().empty()) {
    throw std::invalid_argument(
        "--after needs the order of keys, which is that without --order-by");
  }
  return filter;
}

}  // namespace doclock::cli
