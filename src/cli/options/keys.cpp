#include "cli/options/keys.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <variant>

#include <boost/uuid/string_generator.hpp>

#include "doclock/uuid_json.h"

namespace doclock::cli {
namespace {

ObjectId ParseObjectId(const std::string& text) {
  try {
    return ObjectIdFromText(text);
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument("KEY: an oid is 24 hexadecimal digits");
  }
}

Uuid ParseUuid(const std::string& text) {
  try {
    return boost::uuids::string_generator()(text);
  } catch (const std::runtime_error&) {
    throw std::invalid_argument(
        "KEY: a uuid is 32 hexadecimal digits, as 8-4-4-4-12 with hyphens or without");
  }
}

std::int64_t ParseInteger(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) {
    throw std::invalid_argument("KEY: an int is a whole number of 64 bits, as 42 or -7");
  }
  return number;
}

}  // namespace

KeyText TextOf(const Key& key) {
  static constexpr std::array kTypes{"string", "int", "uuid", "oid"};
  const auto* const text = std::get_if<std::string>(&key.value());
  return {text != nullptr ? *text : key.ToString(), kTypes.at(key.value().index())};
}

Key ParseKey(const KeyText& key) {
  if (key.type != "string" && key.type != "oid" && key.type != "uuid" && key.type != "int") {
    throw std::invalid_argument("the type of the key must be string, int, uuid or oid");
  }
  if (key.type == "oid") return ParseObjectId(key.text);
  if (key.type == "uuid") return ParseUuid(key.text);
  if (key.type == "int") return ParseInteger(key.text);
  try {
    return key.text;
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument("KEY must be UTF-8 of at most " + std::to_string(kMaxKeyBytes) +
                                " bytes");
  }
}

}  // namespace doclock::cli
