#pragma once

/// @file
/// std::variant of structs that name themselves, as JSON: the alternative's own members, and one
/// called "type" with its tag.
///
///     struct Card { static constexpr std::string_view kTag = "card"; std::string number; };
///     struct Cash { static constexpr std::string_view kTag = "cash"; };
///     using Payment = std::variant<Card, Cash>;   // {"type": "card", "number": "..."}
///
/// An alternative must not have a member of that name, and is an object as JSON. One without
/// members (an empty struct) needs no JSON form of its own.

#include <array>
#include <concepts>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "doclock/entity_traits.h"
#include "doclock/json/value_error.h"

namespace doclock {

/// The member that tells the alternatives of a variant apart.
inline constexpr const char* kTagField = "type";

/// A struct with a tag: `static constexpr std::string_view kTag`, different in each alternative.
template <class T>
concept Tagged = requires {
  { T::kTag } -> std::convertible_to<std::string_view>;
};

}  // namespace doclock

namespace doclock::detail {

/// An alternative without members, and without a JSON form of its own.
template <class T>
concept Bare = std::is_empty_v<T> && !std::constructible_from<nlohmann::json, const T&>;

/// @throws std::invalid_argument if the alternative is no object, or has a "type" of its own.
template <Tagged T>
nlohmann::json TaggedJson(const T& alternative) {
  nlohmann::json tree;
  if constexpr (!Bare<T>) tree = ToJson(alternative);
  if (tree.is_null()) tree = nlohmann::json::object();
  if (!tree.is_object() || tree.contains(kTagField)) {
    throw std::invalid_argument("doclock: the alternative '" + std::string(T::kTag) +
                                "' of a variant must be an object without a member 'type'");
  }
  tree[kTagField] = std::string(T::kTag);
  return tree;
}

/// Is each tag another one?
template <Tagged... Ts>
constexpr bool TagsDiffer() {
  const std::array<std::string_view, sizeof...(Ts)> tags{Ts::kTag...};
  for (std::size_t i = 0; i < tags.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (tags[i] == tags[j]) return false;
    }
  }
  return true;
}

/// Returns true if it read the value; false if the tag is another alternative's.
template <class Alternative, class Variant>
bool ReadTagged(const nlohmann::json& in, const std::string& tag, Variant& value) {
  if (tag != Alternative::kTag) return false;
  if constexpr (Bare<Alternative>) {
    value = Alternative{};
  } else {
    value = in.get<Alternative>();
  }
  return true;
}

}  // namespace doclock::detail

/// @cond

template <doclock::Tagged... Alternatives>
struct nlohmann::adl_serializer<std::variant<Alternatives...>> {
  static_assert(doclock::detail::TagsDiffer<Alternatives...>(),
                "doclock: two alternatives of this variant have the same kTag");

  static void to_json(nlohmann::json& out, const std::variant<Alternatives...>& value) {
    out = std::visit([](const auto& one) { return doclock::detail::TaggedJson(one); }, value);
  }
  static void from_json(const nlohmann::json& in, std::variant<Alternatives...>& value) {
    const auto type = in.is_object() ? in.find(doclock::kTagField) : in.end();
    if (type == in.end() || !type->is_string()) {
      throw doclock::JsonValueError(in, "doclock: a variant that is no object with a text 'type'");
    }
    const auto& tag = type->template get_ref<const std::string&>();
    if ((doclock::detail::ReadTagged<Alternatives>(in, tag, value) || ...)) return;
    std::string known;
    ((known += (known.empty() ? "" : ", ") + std::string(Alternatives::kTag)), ...);
    throw doclock::JsonValueError(*type, "doclock: a variant's 'type' that is none of " + known);
  }
};

/// @endcond
