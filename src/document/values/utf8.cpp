#include "document/values/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

namespace doclock::detail {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080U;

/// The first byte at or after `at` that is not ASCII, or the end.
std::size_t SkipAscii(std::string_view text, std::size_t at) noexcept {
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & kHighBits) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

/// Length of the well-formed sequence of several bytes at the front of `text`; 0: there is none.
std::size_t SequenceLength(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead < 0xC2   ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  // The second byte is what rules out overlong forms, surrogates and the region above U+10FFFF.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

bool IsUtf8(std::string_view text) noexcept {
  for (std::size_t at = SkipAscii(text, 0); at < text.size(); at = SkipAscii(text, at)) {
    const std::size_t length = SequenceLength(text.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

Utf8Character FirstCharacter(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {1, byte(0)};
  const std::size_t length = SequenceLength(text);
  if (length == 0) return {};
  char32_t code = byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) code = (code << 6) | (byte(i) & 0x3FU);
  return {length, code};
}

bool AllTextIsUtf8(const nlohmann::json& tree) noexcept {
  if (const auto* const text = tree.get_ptr<const std::string*>()) {
    return IsUtf8(*text);
  }
  if (const auto* const values = tree.get_ptr<const nlohmann::json::array_t*>()) {
    return std::all_of(values->begin(), values->end(),
                       [](const nlohmann::json& value) { return AllTextIsUtf8(value); });
  }
  const auto* const members = tree.get_ptr<const nlohmann::json::object_t*>();
  return members == nullptr ||
         std::all_of(members->begin(), members->end(), [](const auto& member) {
           return IsUtf8(member.first) && AllTextIsUtf8(member.second);
         });
}

bool IsControl(char32_t code) noexcept {
  struct Range {
    char32_t first, last;
  };
  // Cc, Bidi_Control, and all of Default_Ignorable_Code_Point of Unicode.
  constexpr std::array kRanges{
      Range{0x00, 0x1f},         // C0
      Range{0x7f, 0x9f},         // DEL, C1
      Range{0xad, 0xad},         // soft hyphen
      Range{0x34f, 0x34f},       // combining grapheme joiner
      Range{0x61c, 0x61c},       // Arabic letter mark
      Range{0x115f, 0x1160},     // Hangul fillers
      Range{0x17b4, 0x17b5},     // Khmer inherent vowels
      Range{0x180b, 0x180f},     // Mongolian separators
      Range{0x200b, 0x200f},     // zero width space and joiners, direction marks
      Range{0x2028, 0x202e},     // line and paragraph separators, embeddings and overrides
      Range{0x2060, 0x206f},     // word joiner, invisible operators, isolates
      Range{0x3164, 0x3164},     // Hangul filler
      Range{0xfe00, 0xfe0f},     // variation selectors
      Range{0xfeff, 0xfeff},     // byte order mark
      Range{0xffa0, 0xffa0},     // halfwidth Hangul filler
      Range{0xfff0, 0xfffb},     // unassigned, annotations
      Range{0x1bca0, 0x1bca3},   // shorthand format controls
      Range{0x1d173, 0x1d17a},   // musical format controls
      Range{0xe0000, 0xe0fff}};  // tags, variation selectors
  return std::any_of(kRanges.begin(), kRanges.end(),
                     [&](const Range& range) { return code >= range.first && code <= range.last; });
}

void AppendEscaped(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  while (!text.empty()) {
    const Utf8Character first = FirstCharacter(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(first.length, 1));
    if (first.length > 0 && !IsControl(first.code)) {
      out += bytes;
    } else {
      for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      }
    }
    text.remove_prefix(bytes.size());
  }
}

std::string QuotedName(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  std::string text = "\"";
  std::size_t end = std::min(name.size(), kLongest);
  while (end > 0 && end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80)
    --end;
  AppendEscaped(text, name.substr(0, end));
  return text + (end < name.size() ? "…\"" : "\"");
}

}  // namespace doclock::detail
