#pragma once

#include <nlohmann/json.hpp>
#include <optional>

/// @file
/// std::optional as JSON: the value, or null. nlohmann/json has it itself from 3.12 on.

/// @cond
#if NLOHMANN_JSON_VERSION_MAJOR == 3 && NLOHMANN_JSON_VERSION_MINOR < 12

template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(nlohmann::json& out, const std::optional<T>& value) {
    if (value) {
      out = *value;
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

#endif
/// @endcond
