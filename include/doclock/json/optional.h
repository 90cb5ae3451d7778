#pragma once

/// @file
/// std::optional as JSON: the value, or null. It stands before nlohmann/json's own form, which is
/// the same and which only some versions have.

#include <nlohmann/json.hpp>
#include <optional>

/// @cond
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(nlohmann::json& out, const std::optional<T>& value) {
    if (value) {
      // Not out = *value: in nlohmann/json before 3.11.3 its temporary leaks if to_json throws.
      nlohmann::adl_serializer<T>::to_json(out, *value);
    } else {
      out = nullptr;
    }
  }
  static void from_json(const nlohmann::json& in, std::optional<T>& value) {
    if (in.is_null()) {
      value.reset();
    } else {
      value = in.get<T>();
    }
  }
};
/// @endcond
