#include "cli/json/document_line.h"

#include <stdexcept>
#include <utility>

#include "cli/json/json_text.h"

namespace doclock::cli {
namespace {

using detail::ExactJson;
using nlohmann::json;

/// A member that is a text or a whole number, as text.
std::string TextAt(const json& line, const char* name) {
  const json& member = line.at(name);
  if (member.is_string()) return member.get<std::string>();
  if (member.is_number_integer()) return member.dump();
  throw BadData(std::string("the member \"") + name + "\" must be a string");
}

Key KeyAt(const json& line) {
  if (!line.contains("key")) {
    throw BadData("there is no member \"key\"");
  }
  KeyText key;
  key.text = TextAt(line, "key");
  const bool number = line.at("key").is_number();
  if (line.contains("keyType")) key.type = TextAt(line, "keyType");
  if (number && !line.contains("keyType")) key.type = "int";
  try {
    return ParseKey(key);
  } catch (const std::invalid_argument& error) {
    throw BadData(error.what());
  }
}

}  // namespace

ExactJson LineOf(const DocumentLine& document) {
  const KeyText key = TextOf(document.key);
  const ExactJson& body = detail::BodyAccess::Exact(document.body);
  ExactJson line{{{"key", key.text},
                  {"keyType", key.type},
                  {"version", document.version},
                  {"locked", document.locked},
                  {"body", body.tree}}};
  if (!body.literals.is_null()) line.literals["body"] = body.literals;
  return line;
}

DocumentLine ParseLine(const std::string& text) {
  ExactJson line = ParseJson(text);
  if (!line.tree.is_object()) throw BadData("the line is not a JSON object");
  DocumentLine document;
  document.key = KeyAt(line.tree);
  const auto body = line.tree.find("body");
  if (body == line.tree.end() || !body->is_object()) {
    throw BadData("the member \"body\" must be an object");
  }
  json literals = line.literals.is_object() ? line.literals.value("body", json()) : json();
  document.body = StorableBody({std::move(*body), std::move(literals)});
  return document;
}

}  // namespace doclock::cli
