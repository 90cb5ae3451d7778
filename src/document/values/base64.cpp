#include "document/values/base64.h"

#include <array>

namespace doclock::detail {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> kValues = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}();

int ValueOfDigit(char c) noexcept { return kValues[static_cast<unsigned char>(c)]; }

std::size_t PaddingOf(std::string_view text) noexcept {
  if (text.ends_with("==")) return 2;
  return text.ends_with('=') ? 1 : 0;
}

}  // namespace

std::string EncodeBase64(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) group = group << 8U | (j < count ? bytes[i + j] : 0U);
    for (std::size_t j = 0; j < 4; ++j) {
      text += j <= count ? kAlphabet[group >> (18 - 6 * j) & 63U] : '=';
    }
  }
  return text;
}

bool IsBase64(std::string_view text) noexcept {
  if (text.size() % 4 != 0) return false;
  const std::size_t padding = PaddingOf(text);
  const std::string_view digits = text.substr(0, text.size() - padding);
  for (const char c : digits) {
    if (ValueOfDigit(c) < 0) return false;
  }
  // The last digit has bits that belong to no byte: they must be zero.
  if (padding == 0) return true;
  return (ValueOfDigit(digits.back()) & (padding == 2 ? 15 : 3)) == 0;
}

std::optional<std::vector<std::uint8_t>> DecodeBase64(std::string_view text) {
  if (!IsBase64(text)) return std::nullopt;
  text.remove_suffix(PaddingOf(text));
  std::vector<std::uint8_t> bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    bits = bits << 6U | static_cast<std::uint32_t>(ValueOfDigit(c));
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<std::uint8_t>(bits >> static_cast<unsigned>(count)));
    }
  }
  return bytes;
}

}  // namespace doclock::detail
