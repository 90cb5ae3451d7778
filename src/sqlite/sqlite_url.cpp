#include "sqlite/sqlite_url.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace doclock {
namespace {

[[noreturn]] void Refuse(const std::string& what) {
  throw std::invalid_argument("doclock: a sqlite: URL's " + what);
}

/// A part of the URL for a message: in ASCII, on one line, and shortened.
std::string Quote(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      quoted += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return quoted + (text.size() > kLongest ? "...\"" : "\"");
}

int HexDigit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::u8string DecodePath(std::string_view text) {
  std::u8string path;
  path.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '#') Refuse("path holds '#'; write it %23");
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        Refuse("path holds '%' without two hexadecimal digits after it; write the sign itself %25");
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') Refuse("path holds a NUL character");
    path.push_back(static_cast<char8_t>(c));
  }
  return path;
}

std::filesystem::path ParsePath(std::string_view text) {
  if (text.empty()) Refuse("path is missing: write sqlite:PATH");
  // In other URLs two slashes begin a host; here they would open a file in the root directory.
  if (text.starts_with("//") && !text.starts_with("///")) {
    Refuse(
        "path begins with \"//\": it is a path, not a host; write sqlite:/absolute or "
        "sqlite:relative");
  }
  return DecodePath(text);
}

[[noreturn]] void RefuseValue(std::string_view name, std::string_view value,
                              const std::string& rule) {
  Refuse("option " + std::string(name) + " must be " + rule + ", not " + Quote(value));
}

bool ParseBool(std::string_view name, std::string_view value) {
  if (value == "true") return true;
  if (value == "false") return false;
  RefuseValue(name, value, "true or false");
}

std::int64_t ParseNumber(std::string_view name, std::string_view value, std::int64_t min,
                         std::int64_t max) {
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (value.empty() || error != std::errc() || stop != end || number < min || number > max) {
    const bool bounded = max != std::numeric_limits<std::int64_t>::max();
    RefuseValue(name, value,
                "a whole number " + (bounded ? std::to_string(min) + " to " + std::to_string(max)
                                             : "of at least " + std::to_string(min)));
  }
  return number;
}

SqliteSync ParseSync(std::string_view name, std::string_view value) {
  if (value == "full") return SqliteSync::kFull;
  if (value == "normal") return SqliteSync::kNormal;
  if (value == "off") return SqliteSync::kOff;
  RefuseValue(name, value, "full, normal or off");
}

struct OptionParser {
  std::string_view name;
  void (*set)(SqliteStoreOptions& options, std::string_view name, std::string_view value);
};

constexpr std::array kOptions = {
    OptionParser{"sync", [](SqliteStoreOptions& options, std::string_view name,
                            std::string_view value) { options.sync = ParseSync(name, value); }},
    OptionParser{"create", [](SqliteStoreOptions& options, std::string_view name,
                              std::string_view value) { options.create = ParseBool(name, value); }},
    OptionParser{"local_only",
                 [](SqliteStoreOptions& options, std::string_view name, std::string_view value) {
                   options.local_only = ParseBool(name, value);
                 }},
    OptionParser{"busy_timeout_ms",
                 [](SqliteStoreOptions& options, std::string_view name, std::string_view value) {
                   options.busy_timeout =
                       std::chrono::milliseconds(ParseNumber(name, value, 1, 60'000));
                 }},
    OptionParser{"max_pages",
                 [](SqliteStoreOptions& options, std::string_view name, std::string_view value) {
                   options.max_pages =
                       ParseNumber(name, value, 0, std::numeric_limits<std::int64_t>::max());
                 }},
};

std::size_t FindOption(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < kOptions.size(); ++i) {
    if (kOptions[i].name == name) return i;
    known += (i == 0 ? "" : ", ") + std::string(kOptions[i].name);
  }
  Refuse("option " + Quote(name) + " is not known; there are " + known);
}

void ParseOptions(std::string_view text, SqliteStoreOptions& options) {
  std::array<bool, kOptions.size()> seen{};
  for (;;) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view item = text.substr(0, end);
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view name = item.substr(0, equals);
    const std::size_t index = FindOption(name);
    if (equals == item.size()) Refuse("option " + std::string(name) + " has no value");
    if (std::exchange(seen[index], true)) Refuse("option " + std::string(name) + " is given twice");
    kOptions[index].set(options, name, item.substr(equals + 1));
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

SqliteUrl ParseSqliteUrl(std::string_view rest) {
  SqliteUrl url;
  const std::size_t question = rest.find('?');
  url.file = ParsePath(rest.substr(0, question));
  if (question != rest.npos) ParseOptions(rest.substr(question + 1), url.options);
  return url;
}

}  // namespace doclock
