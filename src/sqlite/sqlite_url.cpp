#include "sqlite/sqlite_url.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "document/values/utf8.h"

namespace doclock {
namespace {

[[noreturn]] void Refuse(const std::string& what) {
  throw std::invalid_argument("doclock: a sqlite: URL's " + what);
}

[[noreturn]] void RefuseValue(std::string_view name, std::string_view value,
                              const std::string& rule) {
  Refuse("option " + std::string(name) + " must be " + rule + ", not " + detail::QuotedName(value));
}

std::filesystem::path ParsePath(std::string_view text) {
  if (text.empty()) Refuse("path is missing: write sqlite:PATH");
  // In other URLs two slashes begin a host; here they would open a file in the root directory.
  if (text.starts_with("//") && !text.starts_with("///")) {
    Refuse(
        "path begins with \"//\": it is a path, not a host; write sqlite:/absolute or "
        "sqlite:relative");
  }
  std::u8string path;
  while (!text.empty()) {
    auto c = static_cast<unsigned char>(text.front());
    if (c == '#') Refuse("path holds '#'; write it %23");
    text.remove_prefix(1);
    if (c == '%') {
      const char* const digits = text.data();
      if (text.size() < 2 || std::from_chars(digits, digits + 2, c, 16).ptr != digits + 2) {
        Refuse("path holds '%' without two hexadecimal digits after it; write the sign itself %25");
      }
      text.remove_prefix(2);
    }
    path.push_back(c);
  }
  return path;
}

template <class T>
T Choose(std::string_view name, std::string_view value,
         std::initializer_list<std::pair<const char*, T>> choices) {
  std::string known;
  for (const auto& [text, choice] : choices) {
    if (value == text) return choice;
    known += (known.empty() ? "" : " or ") + std::string(text);
  }
  RefuseValue(name, value, known);
}

bool ParseBool(std::string_view name, std::string_view value) {
  return Choose<bool>(name, value, {{"true", true}, {"false", false}});
}

std::int64_t ParseNumber(std::string_view name, std::string_view value) {
  std::int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || stop != end) RefuseValue(name, value, "a whole number");
  return number;
}

void ParseOption(std::string_view name, std::string_view value, SqliteStoreOptions& options) {
  if (name == "sync") {
    options.sync = Choose<SqliteSync>(
        name, value,
        {{"full", SqliteSync::kFull}, {"normal", SqliteSync::kNormal}, {"off", SqliteSync::kOff}});
  } else if (name == "create") {
    options.create = ParseBool(name, value);
  } else if (name == "local_only") {
    options.local_only = ParseBool(name, value);
  } else if (name == "busy_timeout_ms") {
    options.busy_timeout = std::chrono::milliseconds(ParseNumber(name, value));
  } else if (name == "max_pages") {
    options.max_pages = ParseNumber(name, value);
  } else {
    Refuse("option " + detail::QuotedName(name) +
           " is not known; there are sync, create, local_only, busy_timeout_ms, max_pages");
  }
}

}  // namespace

SqliteUrl ParseSqliteUrl(std::string_view rest) {
  SqliteUrl url;
  std::size_t end = std::min(rest.find('?'), rest.size());
  url.file = ParsePath(rest.substr(0, end));
  for (std::set<std::string_view> seen; end < rest.size();) {
    rest.remove_prefix(end + 1);
    end = std::min(rest.find('&'), rest.size());
    const std::string_view option = rest.substr(0, end);
    const std::size_t equals = std::min(option.find('='), option.size());
    const std::string_view name = option.substr(0, equals);
    if (!seen.insert(name).second) Refuse("option " + detail::QuotedName(name) + " is given twice");
    ParseOption(name, option.substr(std::min(equals + 1, option.size())), url.options);
  }
  return url;
}

}  // namespace doclock
