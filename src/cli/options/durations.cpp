#include "cli/options/durations.h"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

constexpr std::array<std::pair<const char*, std::int64_t>, 6> kUnits{
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}, {"", 1000}}};

[[noreturn]] void Refuse(const std::string& text) {
  throw std::invalid_argument(Quoted(text) +
                              " is not a time: write 500ms, 30s, 5m, 2h, 1d or forever");
}

/// The duration in the largest unit that is exact: "100ms", "24h".
std::string ExactText(Duration time) {
  const std::int64_t ms = time.count();
  if (ms != 0 && ms % 3'600'000 == 0) return std::to_string(ms / 3'600'000) + "h";
  if (ms % 1000 == 0) return std::to_string(ms / 1000) + "s";
  return std::to_string(ms) + "ms";
}

}  // namespace

Duration ParseDuration(const std::string& text) {
  if (text == "forever") return kForever;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) Refuse(text);
  for (const auto& [name, factor] : kUnits) {
    if (std::string_view(unit, static_cast<std::size_t>(end - unit)) != name) continue;
    return std::chrono::duration<double, std::milli>(number * static_cast<double>(factor));
  }
  Refuse(text);
}

Duration ParseDuration(const std::string& text, const DurationRange& range) {
  const Duration time = ParseDuration(text);
  if (time >= range.least && time <= range.most) return time;
  const std::string least = ExactText(range.least);
  if (range.most == kForever)
    throw std::invalid_argument(Quoted(text) + " must be at least " + least);
  throw std::invalid_argument(Quoted(text) + " must be " + least + " to " + ExactText(range.most));
}

std::string DurationText(std::chrono::milliseconds time) {
  const std::int64_t ms = time.count();
  if (ms < 1000) return std::to_string(ms) + "ms";
  const std::int64_t s = ms / 1000;
  if (s < 60) return std::to_string(s) + "s";
  if (s < 3600) return std::to_string(s / 60) + "m " + std::to_string(s % 60) + "s";
  if (s < 86'400) return std::to_string(s / 3600) + "h " + std::to_string(s / 60 % 60) + "m";
  return std::to_string(s / 86'400) + "d " + std::to_string(s / 3600 % 24) + "h";
}

}  // namespace doclock::cli
