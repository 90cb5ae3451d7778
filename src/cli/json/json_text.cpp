#include "cli/json/json_text.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output/messages.h"
#include "doclock/detail/engine.h"
#include "doclock/errors.h"
#include "doclock/options.h"
#include "document/values/utf8.h"

namespace doclock::cli {

using nlohmann::json;

namespace {

/// Below it are only characters that `dump` escapes, and the blanks that it makes itself.
constexpr unsigned char kFirstThatMayControl = 0x7f;

/// Characters above U+FFFF are two units in JSON: a surrogate pair.
void AppendUnicodeEscape(std::string& out, char32_t code) {
  if (code > 0xffff) {
    AppendUnicodeEscape(out, 0xd7c0 + (code >> 10));
    code = 0xdc00 + (code & 0x3ff);
  }
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(code));
  out += text;
}

/// Why a text cannot be stored as it stands; empty: it can. No part of it is repeated but the name
/// of a member.
std::string FaultIn(const std::string& text) {
  // The parser takes NUL for the end of the text.
  if (text.find('\0') != text.npos) return "this is not valid JSON: it holds a NUL byte";
  std::vector<std::set<std::string>> names;
  std::string fault;
  // If two members have one name, one of them would vanish.
  const auto note = [&](int, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) names.emplace_back();
    if (event == json::parse_event_t::object_end) names.pop_back();
    if (event != json::parse_event_t::key || !fault.empty()) return true;
    const std::string name = parsed.get<std::string>();
    if (!names.back().insert(name).second) {
      fault = "this JSON cannot be stored: two members of one object have the name " + Quoted(name);
    }
    return true;
  };
  std::vector<std::string> replaced;
  try {
    [[maybe_unused]] const json tree = json::parse(detail::WithinRange(text, replaced), note);
  } catch (const json::parse_error& error) {
    std::string_view why = error.what();
    why.remove_prefix(std::min(why.size(), why.find("parse error")));
    fault = "this is not valid JSON: " + std::string(why.substr(0, why.find("; last read")));
  }
  return fault;
}

}  // namespace

detail::ExactJson ParseJson(const std::string& text) {
  // What is a bit deeper is refused as a body; a line of an export has one level more.
  constexpr std::size_t kDeepest = 2 * static_cast<std::size_t>(kMaxBodyDepth);
  const std::string fault = FaultIn(text);
  if (!fault.empty()) throw BadData(fault);
  try {
    return detail::ParseExact(text, kDeepest);
  } catch (const DocumentException&) {
    throw BadData("the body cannot be stored: it is nested deeper than " +
                  std::to_string(kMaxBodyDepth) + " levels");
  }
}

Body StorableBody(detail::ExactJson what) {
  try {
    Body body = detail::BodyAccess::Make(std::move(what));
    detail::CheckBody(body, LockFieldNames());
    return body;
  } catch (const DocumentException& error) {
    throw BadData(error.what());
  }
}

std::string WithoutControls(std::string dumped) {
  const auto may_control = [](char c) {
    return static_cast<unsigned char>(c) >= kFirstThatMayControl;
  };
  if (std::none_of(dumped.begin(), dumped.end(), may_control)) return dumped;
  std::string text;
  text.reserve(dumped.size());
  for (std::string_view rest = dumped; !rest.empty();) {
    const auto plain = std::find_if(rest.begin(), rest.end(), may_control) - rest.begin();
    text += rest.substr(0, static_cast<std::size_t>(plain));
    rest.remove_prefix(static_cast<std::size_t>(plain));
    if (rest.empty()) break;
    const detail::Utf8Character first = detail::FirstCharacter(rest);
    if (detail::IsControl(first.code)) {
      AppendUnicodeEscape(text, first.code);
    } else {
      text += rest.substr(0, first.length);
    }
    rest.remove_prefix(first.length);
  }
  return text;
}

std::string JsonText(const json& what, int indent) { return ExactText({what}, indent); }

std::string ExactText(const detail::ExactJson& what, int indent) {
  return WithoutControls(detail::Print(what, indent, json::error_handler_t::replace));
}

void PrintJson(const json& what) { std::cout << JsonText(what) << std::endl; }

}  // namespace doclock::cli
