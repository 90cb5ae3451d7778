#include "script.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

namespace doclock::conformance::script {
namespace {

constexpr std::size_t kWidth = 108;
/// Longer steps do not move the column of the answers.
constexpr std::size_t kLongestAligned = 46;
/// The title of the steps that begin each other case of the file.
constexpr const char* kBeginning = "Every case begins so";

struct Need {
  const char* name;
  bool (*has)(const Backend& backend);
};
constexpr Need kNeeds[] = {
    {"queues", [](const Backend& b) { return b.store->traits().queues; }},
    {"transactions", [](const Backend& b) { return b.store->traits().transactions; }},
    {"another process", [](const Backend& b) { return b.open_another != nullptr; }},
    {"spoil", [](const Backend& b) { return b.spoil != nullptr; }},
    {"spoil-share", [](const Backend& b) { return b.spoil_share != nullptr; }},
    {"our clock", [](const Backend& b) { return b.advance == nullptr; }},
};

const Need& NeedOf(const std::string& name) {
  std::vector<std::string> names;
  for (const Need& need : kNeeds) {
    if (need.name == name) return need;
    names.emplace_back(need.name);
  }
  throw ScriptError("a store cannot have " + Quoted(name) + ", only: " + Joined(names));
}

std::string Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

class Parser {
 public:
  explicit Parser(Script& script) : script_(script) {}

  void Read(std::size_t number) {
    const std::string& line = script_.lines[number];
    const std::string text = Trimmed(line);
    if (text.empty() || text.starts_with('#')) return;
    if (text.starts_with("==")) return Begin(number, Trimmed(text.substr(2)));
    if (text.starts_with("needs:")) return Needs(Trimmed(text.substr(6)));
    if (text.starts_with("level:")) return Level(Trimmed(text.substr(6)));
    if (steps_ == nullptr) throw ScriptError("a step stands before the first case (== TITLE)");
    if (line[0] != ' ') {
      steps_->push_back({.line = number, .lines = 1, .text = "", .expected = {}});
      return Answers(text, steps_->back());
    }
    if (steps_->empty()) throw ScriptError("an answer stands without a step");
    if (number != steps_->back().line + steps_->back().lines) {
      throw ScriptError("an answer stands apart from its step: no line comes between them");
    }
    ++steps_->back().lines;
    if (!text.starts_with("->") && !text.starts_with("|")) {
      throw ScriptError("a line that goes on begins with -> or |");
    }
    Answers(text, steps_->back());
  }
  void End() {
    if (steps_ == nullptr) throw ScriptError("there is no case (== TITLE)");
    if (steps_->empty()) throw ScriptError("the case has no step");
    if (script_.cases.empty()) throw ScriptError("there is no case beside the beginning");
  }

 private:
  void Begin(std::size_t number, const std::string& title) {
    if (steps_ != nullptr && steps_->empty()) throw ScriptError("the case before has no step");
    if (title.empty()) throw ScriptError("the case has no title");
    if (!titles_.insert(title).second) throw ScriptError("the title stands twice in this file");
    if (title == kBeginning) {
      if (titles_.size() > 1) throw ScriptError(Quoted(title) + " must be the first");
      steps_ = &script_.beginning;
      return;
    }
    script_.cases.push_back({.line = number, .title = title, .needs = needs_, .steps = {}});
    steps_ = &script_.cases.back().steps;
  }
  void Needs(const std::string& text) {
    if (steps_ != nullptr && (script_.cases.empty() || !steps_->empty())) {
      throw ScriptError("needs: stands before the first case, or before the steps of its case");
    }
    auto& needs = steps_ == nullptr ? needs_ : script_.cases.back().needs;
    if (text.empty()) throw ScriptError("needs: names nothing");
    for (const std::string& need : AtCommas(text)) needs.emplace_back(NeedOf(Trimmed(need)).name);
  }
  void Level(const std::string& level) {
    if (steps_ != nullptr) throw ScriptError("level: stands before the first case");
    if (level != "public")
      throw ScriptError("level: can only be public, and " + Quoted(level) + " stands here");
    script_.is_public = true;
    needs_.emplace_back("our clock");
  }
  /// Reads "step -> reply | change".
  static void Answers(std::string_view text, Step& step) {
    std::string* part = &step.text;
    for (const std::string& word : Split(text)) {
      if (word == "->" || word == "|") {
        part = word == "|" ? &step.expected.change : &step.expected.reply;
        if (!part->empty()) throw ScriptError("the step has two answers of a kind");
      } else if (word.starts_with("->") || word.starts_with('|')) {
        throw ScriptError("a space stands on both sides of -> and |");
      } else if (word == "BUT") {
        throw ScriptError("BUT is a broken promise, which no answer may expect");
      } else {
        *part += (part->empty() ? "" : " ") + word;
      }
    }
    if (step.text.empty()) throw ScriptError("an answer stands without a step");
  }

  Script& script_;
  std::vector<Step>* steps_ = nullptr;  ///< Of the case that is read.
  std::set<std::string> titles_;
  std::vector<std::string> needs_;  ///< Of each case.
};

/// One step, in as many lines as it takes.
std::string Laid(const Step& step, const Answer& answer, std::size_t column) {
  std::string text = step.text;
  std::size_t width = text.size();  // of the last line
  const auto add = [&](const std::string& part, std::size_t at) {
    const std::size_t begin = std::max(width + 1, at);
    const bool fits = begin + part.size() <= kWidth && (at == 0 || width < at);
    text += fits ? std::string(begin - width, ' ') : "\n        ";
    text += part;
    width = (fits ? begin : 8) + part.size();
  };
  if (!answer.reply.empty()) add("-> " + answer.reply, column);
  if (!answer.change.empty()) add("| " + answer.change, answer.reply.empty() ? column : 0);
  return text + "\n";
}

/// 0:30 and what follows it in "0:30,".
std::pair<std::optional<Ms>, std::string> MomentIn(const std::string& word) {
  const std::size_t end = std::min(word.find_first_not_of("0123456789:."), word.size());
  return {MomentOf(word.substr(0, end)), word.substr(end)};
}

bool IsSlackOf(Ms found, Ms wanted, Ms slack) { return found <= wanted && found >= wanted - slack; }

bool IsSame(const std::string& expected, const std::string& got, Ms slack) {
  if (expected == got || slack == 0ms) return expected == got;
  const auto [wanted, after] = MomentIn(expected);
  const auto [found, after_found] = MomentIn(got);
  return wanted && found && after == after_found && IsSlackOf(*found, *wanted, slack);
}

}  // namespace

std::string PlaceOf(const Script& script, std::size_t line) {
  return script.file.string() + ":" + std::to_string(line + 1) + ": ";
}

Script Parse(const std::filesystem::path& file, const std::string& text) {
  Script script;
  script.file = file;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) script.lines.push_back(line);
  Parser parser(script);
  std::size_t at = 0;
  try {
    for (; at < script.lines.size(); ++at) parser.Read(at);
    at = script.lines.empty() ? 0 : script.lines.size() - 1;
    parser.End();
  } catch (const ScriptError& error) {
    throw ScriptError(PlaceOf(script, at) + error.what());
  }
  return script;
}

Script Load(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw ScriptError(file.string() + ": cannot be read");
  return Parse(file, {std::istreambuf_iterator<char>(in), {}});
}

bool CanPlay(const Backend& backend, const Case& one) {
  return std::all_of(one.needs.begin(), one.needs.end(),
                     [&](const std::string& need) { return NeedOf(need).has(backend); });
}

std::string Rewritten(const Script& script, const std::map<std::size_t, Answer>& answers) {
  std::vector<std::string> lines;
  for (const std::string& line : script.lines) lines.push_back(line + "\n");
  const auto lay = [&](const std::vector<Step>& steps) {
    std::size_t column = 0;
    for (const Step& step : steps) {
      if (step.text.size() <= kLongestAligned) column = std::max(column, step.text.size() + 1);
    }
    for (const Step& step : steps) {
      const auto found = answers.find(step.line);
      const Answer& answer = found == answers.end() ? step.expected : found->second;
      for (std::size_t i = 0; i < step.lines; ++i) lines[step.line + i].clear();
      lines[step.line] = Laid(step, answer, column);
    }
  };
  lay(script.beginning);
  for (const Case& one : script.cases) lay(one.steps);
  return Joined(lines, "");
}

bool Matches(const std::string& expected, const std::string& got, Ms slack) {
  const std::vector<std::string> left = Split(expected);
  const std::vector<std::string> right = Split(got);
  std::size_t i = 0;
  std::size_t j = 0;
  for (; i < left.size(); ++i, ++j) {
    if (left[i] == "...") {
      if (i + 1 == left.size()) return true;
      while (j < right.size() && !IsSame(left[i + 1], right[j], slack)) ++j;
      --j;
    } else if (j >= right.size() || !IsSame(left[i], right[j], slack)) {
      return false;
    }
  }
  return j == right.size();
}

std::string Snapped(const std::string& got, const std::string& expected, Ms slack) {
  if (slack == 0ms) return got;
  const std::vector<std::string> wanted = Split(expected);
  std::vector<std::string> words;
  for (const std::string& word : Split(got)) {
    const auto [found, after] = MomentIn(word);
    const auto is_near = [&, moment = found](const std::string& one) {
      const std::optional<Ms> at = MomentIn(one).first;
      return moment && at && IsSlackOf(*moment, *at, slack);
    };
    const auto near = std::find_if(wanted.begin(), wanted.end(), is_near);
    words.push_back(near == wanted.end() ? word : MomentText(*MomentIn(*near).first) + after);
  }
  return Joined(words, " ");
}

}  // namespace doclock::conformance::script
