#include "document/values/decimal_text.h"

#include <algorithm>
#include <charconv>

namespace doclock::detail {
namespace {

using Kind = DecimalParts::Kind;

constexpr std::size_t kMaxDigits = 34;
constexpr int kMinExponent = -6176, kMaxExponent = 6111;

bool IsDigitChar(char c) noexcept { return c >= '0' && c <= '9'; }

/// `lower` is in lower case.
bool EqualsIgnoringCase(std::string_view text, std::string_view lower) noexcept {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

/// The exponent, which follows E. Nothing if it is no whole number.
std::optional<int> ParseExponent(std::string_view text) {
  constexpr std::size_t kLongest = 9;  // digits that surely fit
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.size() > kLongest || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

/// Moves zeros between digits and exponent, as far as the value stays the same.
bool FitExponent(DecimalParts& parts) {
  if (parts.digits == "0") {
    parts.exponent = std::clamp(parts.exponent, kMinExponent, kMaxExponent);
    return true;
  }
  while (parts.exponent > kMaxExponent && parts.digits.size() < kMaxDigits) {
    parts.digits += '0';
    --parts.exponent;
  }
  while ((parts.exponent < kMinExponent || parts.digits.size() > kMaxDigits) &&
         parts.digits.back() == '0' && parts.digits.size() > 1) {
    parts.digits.pop_back();
    ++parts.exponent;
  }
  return parts.digits.size() <= kMaxDigits && parts.exponent >= kMinExponent &&
         parts.exponent <= kMaxExponent;
}

/// Reads digits with an optional point, and an optional exponent.
bool ParseFinite(std::string_view text, DecimalParts& parts) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  if (e < text.size()) {
    const auto exponent = ParseExponent(text.substr(e + 1));
    if (!exponent) return false;
    parts.exponent = *exponent;
  }
  bool point = false;
  for (const char c : text.substr(0, e)) {
    if (c == '.' && !point) {
      point = true;
    } else if (IsDigitChar(c)) {
      parts.digits += c;
      if (point) --parts.exponent;
    } else {
      return false;
    }
  }
  if (parts.digits.empty()) return false;
  parts.digits.erase(0, std::min(parts.digits.find_first_not_of('0'), parts.digits.size() - 1));
  return FitExponent(parts);
}

/// The power of ten of the first digit.
int Magnitude(const DecimalParts& parts) noexcept {
  return parts.exponent + static_cast<int>(parts.digits.size()) - 1;
}

bool IsZero(const DecimalParts& parts) noexcept {
  return parts.kind == Kind::kFinite && parts.digits == "0";
}

int Sign(const DecimalParts& parts) noexcept {
  if (IsZero(parts)) return 0;
  return parts.negative ? -1 : 1;
}

/// Compares two finite numbers, neither zero, without their signs.
int CompareMagnitudes(const DecimalParts& a, const DecimalParts& b) {
  if (Magnitude(a) != Magnitude(b)) return Magnitude(a) < Magnitude(b) ? -1 : 1;
  const std::size_t length = std::max(a.digits.size(), b.digits.size());
  std::string x = a.digits, y = b.digits;
  x.resize(length, '0');
  y.resize(length, '0');
  return x.compare(y);
}

}  // namespace

std::optional<DecimalParts> ParseDecimal(std::string_view text) {
  DecimalParts parts;
  if (text.starts_with('-') || text.starts_with('+')) {
    parts.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (EqualsIgnoringCase(text, "infinity") || EqualsIgnoringCase(text, "inf")) {
    parts.kind = Kind::kInfinity;
    return parts;
  }
  if (EqualsIgnoringCase(text, "nan")) {
    parts.kind = Kind::kNaN;
    parts.negative = false;
    return parts;
  }
  if (!ParseFinite(text, parts)) return std::nullopt;
  return parts;
}

std::optional<std::int64_t> WholeNumber(const DecimalParts& parts) {
  constexpr std::size_t kLongest = 19;  // digits of 2^63
  if (parts.kind != Kind::kFinite) return std::nullopt;
  std::string digits = parts.digits;
  for (int places = parts.exponent; places < 0 && digits != "0"; ++places) {
    if (digits.back() != '0') return std::nullopt;
    digits.pop_back();
  }
  if (digits != "0" && parts.exponent > 0) {
    if (digits.size() + static_cast<std::size_t>(parts.exponent) > kLongest) return std::nullopt;
    digits.append(static_cast<std::size_t>(parts.exponent), '0');
  }
  if (parts.negative) digits.insert(0, 1, '-');
  std::int64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

std::string PrintDecimal(const DecimalParts& parts) {
  constexpr int kFewestPlaces = -6;
  if (parts.kind == Kind::kNaN) return "NaN";
  std::string text = parts.negative ? "-" : "";
  if (parts.kind == Kind::kInfinity) return text + "Infinity";
  const int magnitude = Magnitude(parts);
  if (parts.exponent > 0 || magnitude < kFewestPlaces) {
    text += parts.digits.front();
    if (parts.digits.size() > 1) text.append(1, '.').append(parts.digits, 1);
    return text + (magnitude < 0 ? "E" : "E+") + std::to_string(magnitude);
  }
  if (parts.exponent == 0) return text + parts.digits;
  if (magnitude < 0) {
    return text + "0." + std::string(static_cast<std::size_t>(-magnitude - 1), '0') + parts.digits;
  }
  const auto whole = static_cast<std::size_t>(magnitude + 1);
  return text + parts.digits.substr(0, whole) + "." + parts.digits.substr(whole);
}

int CompareDecimals(const DecimalParts& a, const DecimalParts& b) {
  if (a.kind == Kind::kNaN || b.kind == Kind::kNaN) {
    return (a.kind != Kind::kNaN ? 1 : 0) - (b.kind != Kind::kNaN ? 1 : 0);
  }
  const int sign = Sign(a);
  if (sign != Sign(b)) return sign < Sign(b) ? -1 : 1;
  if (sign == 0) return 0;
  if (a.kind == Kind::kInfinity || b.kind == Kind::kInfinity) {
    return sign * ((a.kind == Kind::kInfinity ? 1 : 0) - (b.kind == Kind::kInfinity ? 1 : 0));
  }
  return sign * CompareMagnitudes(a, b);
}

}  // namespace doclock::detail
