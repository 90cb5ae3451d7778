#include "words.h"

#include <algorithm>
#include <cctype>

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

Ms Rounded(double ms) { return Ms(static_cast<std::int64_t>(ms + 0.5)); }

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
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      word += c;
      word += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '{' || c == '[')) ++depth;
    if (!quoted && (c == '}' || c == ']')) --depth;
    if (!quoted && depth == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  if (quoted || depth != 0) throw ScriptError("a quote or a bracket does not end: " + word);
  if (!word.empty()) words.push_back(std::move(word));
  return words;
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
    if (!number || each == 0) return std::nullopt;
    time += Rounded(*number * each);
    text.remove_prefix(unit.size());
  } while (!text.empty());
  return time;
}

std::optional<std::size_t> Words::Find(std::string_view word) const {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (!used_[i] && words_[i] == word) return i;
  }
  return std::nullopt;
}

std::string Words::Take() {
  const auto next = std::find(used_.begin(), used_.end(), false);
  if (next == used_.end()) throw ScriptError("a word is missing at the end");
  *next = true;
  return words_[static_cast<std::size_t>(next - used_.begin())];
}

Ms Words::TakeLength() {
  const std::string text = Take();
  if (const std::optional<Ms> length = LengthOf(text)) return *length;
  throw ScriptError(Quoted(text) + " is no length of time, such as 1m30s");
}

std::vector<std::string> Words::Rest() {
  std::vector<std::string> rest;
  while (!AtEnd()) rest.push_back(Take());
  return rest;
}

bool Words::AtEnd() const { return std::find(used_.begin(), used_.end(), false) == used_.end(); }

bool Words::Flag(std::string_view word) {
  const std::optional<std::size_t> at = Find(word);
  if (at) used_[*at] = true;
  return at.has_value();
}

std::optional<std::string> Words::After(std::string_view word) {
  const std::optional<std::size_t> at = Find(word);
  if (!at) return std::nullopt;
  if (*at + 1 == words_.size() || used_[*at + 1]) {
    throw ScriptError("a word is missing behind " + Quoted(word));
  }
  used_[*at] = used_[*at + 1] = true;
  return words_[*at + 1];
}

std::optional<Ms> Words::LengthAfter(std::string_view word) {
  const std::optional<std::string> text = After(word);
  if (!text) return std::nullopt;
  if (const std::optional<Ms> length = LengthOf(*text)) return *length;
  throw ScriptError(Quoted(*text) + " is no length of time, such as 1m30s");
}

std::optional<int> Words::NumberAfter(std::string_view word) {
  const std::optional<std::string> text = After(word);
  if (!text) return std::nullopt;
  const std::string_view digits = std::string_view(*text).substr(text->starts_with('-') ? 1 : 0);
  if (!IsCount(digits)) throw ScriptError(Quoted(*text) + " is no number");
  return std::stoi(*text);
}

std::optional<Json> Words::Object() {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (used_[i] || !words_[i].starts_with('{')) continue;
    used_[i] = true;
    Json object = Json::parse(words_[i], nullptr, false);
    if (object.is_discarded()) throw ScriptError(Quoted(words_[i]) + " is not JSON");
    return object;
  }
  return std::nullopt;
}

std::optional<std::int64_t> Words::Version() {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::string& word = words_[i];
    if (used_[i] || !word.starts_with('v') || !IsCount(std::string_view(word).substr(1))) continue;
    used_[i] = true;
    return std::stoll(word.substr(1));
  }
  return std::nullopt;
}

void Words::Finish() const {
  const auto unread = std::find(used_.begin(), used_.end(), false);
  if (unread == used_.end()) return;
  throw ScriptError(Quoted(words_[static_cast<std::size_t>(unread - used_.begin())]) +
                    " means nothing here");
}

}  // namespace doclock::conformance::script
