#include "cli/messages.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iostream>

namespace doclock::cli {
namespace {

constexpr std::string_view kProgram = "doclock: ";
/// In bytes: what it repeats may be of any length.
constexpr std::size_t kLongestMessage = 1000;

struct Character {
  std::size_t length = 0;  ///< In bytes; 0: this is not UTF-8.
  std::uint32_t code = 0;
};

/// The first character of a text that is not empty.
Character FirstOf(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  std::uint32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3f);
  }
  constexpr std::array<std::uint32_t, 5> kLowest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLowest[length] || code > 0x10ffff || surrogate) return {};
  return {length, code};
}

/// Does it move the cursor, start a line, or turn the direction of what follows?
bool Controls(std::uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void AppendEscaped(std::string& to, std::string_view bytes) {
  for (const char c : bytes) {
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "\\x%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    to += code.data();
  }
}

std::string WithoutProgram(std::string_view text) {
  std::string plain(text);
  if (plain.starts_with(kProgram)) plain.erase(0, kProgram.size());
  const std::string nested = ": " + std::string(kProgram);
  for (auto at = plain.find(nested); at != plain.npos; at = plain.find(nested)) {
    plain.erase(at + 2, kProgram.size());
  }
  return plain;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const Character first = FirstOf(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(first.length, 1));
    if (first.length > 0 && !Controls(first.code)) {
      printable += bytes;
    } else {
      AppendEscaped(printable, bytes);
    }
    text.remove_prefix(bytes.size());
  }
  return printable;
}

bool IsUtf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const Character first = FirstOf(text);
    if (first.length == 0) return false;
    text.remove_prefix(first.length);
  }
  return true;
}

std::size_t WidthOf(std::string_view printable) noexcept {
  return static_cast<std::size_t>(std::count_if(printable.begin(), printable.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

void Tell(std::string_view text) {
  std::string line = Printable(WithoutProgram(text).substr(0, kLongestMessage));
  if (text.size() > kLongestMessage) line += "...";
  std::cerr << kProgram << line << '\n';
}

void Tell(const Error& error) {
  std::string_view text = error.what();
  const std::string name = ": " + error.code().message();
  const bool again = error.errc() == Errc::kNotFound || error.errc() == Errc::kBusy;
  if (again && text.ends_with(name)) text.remove_suffix(name.size());
  Tell(text);
}

}  // namespace doclock::cli
