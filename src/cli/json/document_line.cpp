#include "cli/json/document_line.h"

#include <stdexcept>
#include <utility>

#include "cli/json/json_text.h"
#include "doclock/json/key.h"
#include "doclock/json/value_error.h"

namespace doclock::cli {
namespace {

using detail::ExactJson;
using nlohmann::json;

/// A member that is a text or a whole number, as text.
std::string TextAt(const json& line, const char* name) {
  const json& member = line.at(name);
  if (member.is_string()) return member.get<std::string>();
  if (member.is_number_integer()) return member.dump();
  throw BadJson(std::string("the member \"") + name + "\" must be a string");
}

Key KeyOf(const KeyText& key) {
  try {
    return ParseKey(key);
  } catch (const std::invalid_argument& error) {
    throw BadJson(error.what());
  }
}

Key KeyAt(const json& line) {
  if (!line.contains("key")) {
    throw BadJson("there is no member \"key\"; for plain documents name their key with --key");
  }
  KeyText key;
  key.text = TextAt(line, "key");
  const bool number = line.at("key").is_number();
  if (line.contains("keyType")) key.type = TextAt(line, "keyType");
  if (number && !line.contains("keyType")) key.type = "int";
  return KeyOf(key);
}

/// A member that is a key in one of the forms that KeyToMember writes, or a text of this type.
Key KeyOfMember(const json& value, const KeyText& member) {
  if (value.is_string()) return KeyOf({value.get<std::string>(), member.type});
  try {
    return KeyFromMember(value);
  } catch (const JsonValueError&) {
    throw BadJson("the member \"" + member.text +
                  "\" is no key: a text, a whole number, {\"$oid\":...} or {\"$binary\":...} of "
                  "subtype 04");
  }
}

/// What stands there in an object of literals, and goes from it.
json TakeLiterals(json& literals, const std::string& name) {
  if (!literals.is_object()) return {};
  json taken = literals.value(name, json());
  literals.erase(name);
  return taken;
}

ExactJson ParseObject(const std::string& text) {
  ExactJson line = ParseJson(text);
  if (!line.tree.is_object()) throw BadJson("the line is not a JSON object");
  return line;
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
  ExactJson line = ParseObject(text);
  DocumentLine document;
  document.key = KeyAt(line.tree);
  const auto body = line.tree.find("body");
  if (body == line.tree.end() || !body->is_object()) {
    throw BadJson("the member \"body\" must be an object");
  }
  document.body = StorableBody({std::move(*body), TakeLiterals(line.literals, "body")});
  return document;
}

DocumentLine ParsePlainLine(const std::string& text, const KeyText& member) {
  DocumentLine document;
  ExactJson line = ParseObject(text);
  const auto key = line.tree.find(member.text);
  if (key == line.tree.end()) {
    throw BadJson("there is no member \"" + member.text +
                  "\", which --key names (a name at the top level, not a path)");
  }
  document.key = KeyOfMember(*key, member);
  line.tree.erase(key);
  TakeLiterals(line.literals, member.text);
  document.body = StorableBody(std::move(line));
  return document;
}

}  // namespace doclock::cli
