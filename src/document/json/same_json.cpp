#include "document/json/same_json.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace doclock::detail {
namespace {

using nlohmann::json;

bool AreSameIntegers(const json& a, const json& b) noexcept {
  const auto* const x = a.get_ptr<const json::number_unsigned_t*>();
  const auto* const y = b.get_ptr<const json::number_unsigned_t*>();
  // nlohmann gives both kinds of whole numbers by a pointer to a signed one.
  const auto* const i = a.get_ptr<const json::number_integer_t*>();
  const auto* const j = b.get_ptr<const json::number_integer_t*>();
  if (x != nullptr) return y != nullptr ? *x == *y : std::cmp_equal(*x, *j);
  return y != nullptr ? std::cmp_equal(*i, *y) : *i == *j;
}

bool AreSameDoubles(const json& a, const json& b) noexcept {
  const auto bits = [](const json& value) {
    return std::bit_cast<std::uint64_t>(*value.get_ptr<const json::number_float_t*>());
  };
  return bits(a) == bits(b);
}

}  // namespace

bool IsSameJson(const json& a, const json& b) noexcept {
  if (a.is_number_integer() && b.is_number_integer()) return AreSameIntegers(a, b);
  if (a.type() != b.type()) return false;
  if (a.is_number_float()) return AreSameDoubles(a, b);
  if (const auto* const array = a.get_ptr<const json::array_t*>()) {
    const auto& other = *b.get_ptr<const json::array_t*>();
    return std::equal(array->begin(), array->end(), other.begin(), other.end(), IsSameJson);
  }
  if (const auto* const object = a.get_ptr<const json::object_t*>()) {
    const auto& other = *b.get_ptr<const json::object_t*>();
    return std::equal(object->begin(), object->end(), other.begin(), other.end(),
                      [](const auto& x, const auto& y) {
                        return x.first == y.first && IsSameJson(x.second, y.second);
                      });
  }
  return a == b;
}

}  // namespace doclock::detail
