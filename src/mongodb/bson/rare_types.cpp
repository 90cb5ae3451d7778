#include "mongodb/bson/rare_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>

#include "document/json/same_json.h"
#include "platform/plain_numbers.h"

namespace doclock::mongodb {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 9> kRareNames{
    "$numberDouble", "$code",   "$symbol",    "$regularExpression", "$timestamp",
    "$minKey",       "$maxKey", "$undefined", "$dbPointer"};

/// Finite doubles are JSON's own type, and would come back as such.
bool IsRare(const bson_iter_t& value) {
  if (BSON_ITER_HOLDS_DOUBLE(&value)) return !std::isfinite(bson_iter_double(&value));
  return !BSON_ITER_HOLDS_DOCUMENT(&value);
}

}  // namespace

bool MayBeRare(const json::object_t& object) noexcept {
  if (object.empty() || object.size() > 2) return false;
  const std::string& name = object.begin()->first;
  if (name.empty() || name.front() != '$') return false;
  return std::find(kRareNames.begin(), kRareNames.end(), name) != kRareNames.end();
}

std::optional<Doc> ParseRare(const json& object) {
  json wrapped = json::object();
  wrapped["v"] = object;
  const std::string text = wrapped.dump();
  const platform::PlainNumbers plain;
  bson_error_t error;
  bson_t* const parsed = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                            static_cast<ssize_t>(text.size()), &error);
  if (parsed == nullptr) return std::nullopt;
  const OwnedBson owner(parsed);
  bson_iter_t iter;
  // libbson accepts older forms too, which would come back in another form.
  if (!bson_iter_init_find(&iter, parsed, "v") || !IsRare(iter) ||
      !detail::IsSameJson(ReadRare(iter), object)) {
    return std::nullopt;
  }
  return Doc::Of("v", *bson_iter_value(&iter));
}

json ReadRare(const bson_iter_t& value) {
  Doc wrapped;
  wrapped.Add("v", *bson_iter_value(const_cast<bson_iter_t*>(&value)));
  std::size_t size = 0;
  const platform::PlainNumbers plain;
  const std::unique_ptr<char, decltype(&bson_free)> text(
      bson_as_canonical_extended_json(wrapped.get(), &size), &bson_free);
  // libbson and nlohmann differ in what they accept as UTF-8. Like any other text that is none, it
  // must not be written.
  const json parsed = text ? json::parse(text.get(), text.get() + size, nullptr, false)
                           : json(json::value_t::discarded);
  return parsed.is_discarded() ? json("\xFF") : parsed.at("v");
}

}  // namespace doclock::mongodb
