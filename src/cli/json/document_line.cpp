#include "cli/json/document_line.h"

#include <stdexcept>
#include <utility>

#include "cli/json/json_text.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

/// A member that is a text, or a number where `of_number` allows it, as text.
std::string TextAt(const json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end()) throw BadJson(std::string("there is no member \"") + name + "\"");
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_integer()) return found->dump();
  throw BadJson(std::string("the member \"") + name + "\" must be a string");
}

Key KeyAt(const json& line) {
  KeyText key;
  key.text = TextAt(line, "key");
  const bool number = line.at("key").is_number();
  if (line.contains("keyType")) key.type = TextAt(line, "keyType");
  if (number && !line.contains("keyType")) key.type = "int";
  try {
    return ParseKey(key);
  } catch (const std::invalid_argument& error) {
    throw BadJson(error.what());
  }
}

}  // namespace

json LineOf(const DocumentLine& document) {
  const KeyText key = TextOf(document.key);
  return {{"key", key.text},
          {"keyType", key.type},
          {"version", document.version},
          {"locked", document.locked},
          {"body", document.body}};
}

DocumentLine ParseLine(const std::string& text) {
  json line = ParseJson(text);
  if (!line.is_object()) throw BadJson("the line is not a JSON object");
  DocumentLine document;
  document.key = KeyAt(line);
  const auto body = line.find("body");
  if (body == line.end() || !body->is_object()) {
    throw BadJson("the member \"body\" must be an object");
  }
  document.body = std::move(*body);
  return document;
}

}  // namespace doclock::cli
