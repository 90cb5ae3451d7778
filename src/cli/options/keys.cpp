#include "cli/options/keys.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <variant>

#include <boost/uuid/string_generator.hpp>

#include "doclock/json/uuid.h"

namespace doclock::cli {
KeyText TextOf(const Key& key) {
  static constexpr std::array kTypes{"string", "int", "uuid", "oid"};
  const auto* const text = std::get_if<std::string>(&key.value());
  return {text != nullptr ? *text : key.ToString(), kTypes.at(key.value().index())};
}

Key ParseKey(const KeyText& key) {
  std::string form = "UTF-8 of at most " + std::to_string(kMaxKeyBytes) + " bytes";
  try {
    if (key.type == "string") return key.text;
    if (key.type == "oid") {
      form = "24 hexadecimal digits";
      return ObjectIdFromText(key.text);
    }
    if (key.type == "uuid") {
      form = "32 hexadecimal digits, as 8-4-4-4-12 with hyphens or without";
      return boost::uuids::string_generator()(key.text);
    }
    if (key.type == "int") {
      form = "a whole number of 64 bits, as 42 or -7";
      std::int64_t number = 0;
      const char* const end = key.text.data() + key.text.size();
      const auto [stop, error] = std::from_chars(key.text.data(), end, number);
      if (error != std::errc() || stop != end) throw std::invalid_argument("");
      return number;
    }
  } catch (const std::exception&) {
    throw std::invalid_argument("KEY: a key of the type " + key.type + " is " + form);
  }
  throw std::invalid_argument("the type of the key must be string, int, uuid or oid");
}

}  // namespace doclock::cli
