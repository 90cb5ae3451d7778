#include "words.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

namespace doclock::conformance::script {
namespace {

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Short enough to fit in any type that a script's numbers have.
bool IsCount(std::string_view text) {
  return !text.empty() && text.size() < 10 && std::all_of(text.begin(), text.end(), IsDigit);
}

/// 12 or 1.25: reads it from the beginning of `text`, and removes it.
std::optional<double> TakeNumber(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && (IsDigit(text[end]) || text[end] == '.')) ++end;
  const std::string number(text.substr(0, end));
  if (number.empty() || !IsDigit(number.front()) || number.size() > 15) return std::nullopt;
  if (std::count(number.begin(), number.end(), '.') > 1) return std::nullopt;
  text.remove_prefix(end);
  return std::stod(number);
}

/// Longer ones do not fit in the clock.
constexpr Ms kLongest = 1'000'000h;

Ms Rounded(double ms) { return Ms(static_cast<std::int64_t>(ms + 0.5)); }

Ms LengthIn(const std::string& text) {
  if (const std::optional<Ms> length = LengthOf(text)) return *length;
  throw ScriptError(Quoted(text) + " is no length of time, such as 1m30s");
}

/// .25 of 250 ms; nothing of none.
std::string FractionText(Ms rest) {
  if (rest == 0ms) return "";
  std::string part = std::to_string(1000 + rest.count()).substr(1);
  part.erase(part.find_last_not_of('0') + 1);
  return "." + part;
}

}  // namespace

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  bool quoted = false;
  bool escaped = false;
  for (const char c : text) {
    if (c == '"' && !escaped) quoted = !quoted;
    escaped = quoted && c == '\\' && !escaped;
    if (!quoted) depth += (c == '{' || c == '[' ? 1 : 0) - (c == '}' || c == ']' ? 1 : 0);
    if (quoted || depth != 0 || std::isspace(static_cast<unsigned char>(c)) == 0) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (quoted || depth != 0) throw ScriptError("a quote or a bracket does not end: " + word);
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> AtCommas(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list + ",");
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

std::string Joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    text += (text.empty() ? "" : between) + part;
  }
  return text;
}

std::string Quoted(std::string_view word) { return "'" + std::string(word) + "'"; }

std::string MomentText(Ms since_begin) {
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::int64_t seconds = since_begin / 1s;
  const std::string minutes = seconds < 3600
                                  ? std::to_string(seconds / 60)
                                  : std::to_string(seconds / 3600) + ":" + two(seconds / 60 % 60);
  return minutes + ":" + two(seconds % 60) + FractionText(since_begin % 1s);
}

std::optional<Ms> MomentOf(std::string_view text) {
  if (text.find(':') == text.npos) return std::nullopt;
  double seconds = 0;
  for (;;) {
    const std::optional<double> number = TakeNumber(text);
    if (!number) return std::nullopt;
    seconds = seconds * 60 + *number;
    if (text.empty()) return Rounded(seconds * 1000);
    if (text.front() != ':') return std::nullopt;
    text.remove_prefix(1);
  }
}

std::string LengthText(Ms time) {
  std::string text;
  const auto hours = std::chrono::duration_cast<std::chrono::hours>(time);
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(time - hours);
  const Ms rest = time - hours - minutes;
  if (hours.count() > 0) text += std::to_string(hours.count()) + "h";
  if (minutes.count() > 0) text += std::to_string(minutes.count()) + "m";
  if (rest.count() == 0) return text.empty() ? "0s" : text;
  return text + std::to_string(rest / 1s) + FractionText(rest % 1s) + "s";
}

std::optional<Ms> LengthOf(std::string_view text) {
  if (text.starts_with('-')) {
    const std::optional<Ms> positive = LengthOf(text.substr(1));
    return positive ? std::optional(-*positive) : std::nullopt;
  }
  Ms time{};
  do {
    const std::optional<double> number = TakeNumber(text);
    const std::string_view unit = text.substr(0, text.starts_with("ms") ? 2 : 1);
    const double each = unit == "ms"  ? 1
                        : unit == "s" ? 1e3
                        : unit == "m" ? 6e4
                        : unit == "h" ? 36e5
                                      : 0;
    if (!number || each == 0 || *number * each > double(kLongest.count())) return std::nullopt;
    time += Rounded(*number * each);
    text.remove_prefix(unit.size());
  } while (!text.empty());
  return time;
}

template <class Wanted>
const std::string* Words::Use(const Wanted& is_wanted) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (used_[i] || !is_wanted(words_[i])) continue;
    used_[i] = true;
    return &words_[i];
  }
  return nullptr;
}

std::string Words::Take() {
  const std::string* const word = Use([](const auto&) { return true; });
  if (word == nullptr) throw ScriptError("a word is missing at the end");
  return *word;
}

Ms Words::TakeLength() { return LengthIn(Take()); }

std::vector<std::string> Words::Rest() {
  std::vector<std::string> rest;
  while (const std::string* const word = Use([](const auto&) { return true; })) {
    rest.push_back(*word);
  }
  return rest;
}

std::vector<std::vector<std::string>> Words::Parts() {
  std::vector<std::vector<std::string>> parts(1);
  for (const std::string& word : Rest()) {
    if (word == ";") {
      parts.emplace_back();
    } else {
      parts.back().push_back(word);
    }
  }
  return parts;
}

bool Words::Flag(std::string_view wanted) {
  return Use([&](const std::string& word) { return word == wanted; }) != nullptr;
}

std::optional<std::string> Words::After(std::string_view wanted) {
  const std::string* const found = Use([&](const std::string& word) { return word == wanted; });
  if (found == nullptr) return std::nullopt;
  const auto next = static_cast<std::size_t>(found - words_.data()) + 1;
  if (next == words_.size() || used_[next]) {
    throw ScriptError("a word is missing behind " + Quoted(wanted));
  }
  used_[next] = true;
  return words_[next];
}

std::optional<Ms> Words::LengthAfter(std::string_view word) {
  const std::optional<std::string> text = After(word);
  return text ? std::optional(LengthIn(*text)) : std::nullopt;
}

std::optional<int> Words::NumberAfter(std::string_view word) {
  const std::optional<std::string> text = After(word);
  if (!text) return std::nullopt;
  const std::string_view digits = std::string_view(*text).substr(text->starts_with('-') ? 1 : 0);
  if (!IsCount(digits)) throw ScriptError(Quoted(*text) + " is no number");
  return std::stoi(*text);
}

std::optional<Json> Words::Object() {
  const std::string* const found =
      Use([](const std::string& word) { return word.starts_with('{'); });
  if (found == nullptr) return std::nullopt;
  Json object = Json::parse(*found, nullptr, false);
  if (object.is_discarded()) throw ScriptError(Quoted(*found) + " is not JSON");
  return object;
}

std::optional<std::int64_t> Words::Version() {
  const std::string* const found = Use([](const std::string& word) {
    return word.starts_with('v') && IsCount(std::string_view(word).substr(1));
  });
  return found == nullptr ? std::nullopt : std::optional(std::stoll(found->substr(1)));
}

void Words::Finish() {
  const std::string* const unread = Use([](const auto&) { return true; });
  if (unread != nullptr) throw ScriptError(Quoted(*unread) + " means nothing here");
}

}  // namespace doclock::conformance::script
