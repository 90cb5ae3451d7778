#include "stage.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "doclock/errors.h"

namespace doclock::conformance::script {
namespace {

/// ann; w1..w64
void AddActors(const std::string& text, bool there, std::vector<Actor>& actors) {
  const auto wrong = [&]() -> ScriptError {
    return ScriptError(Quoted(text) + " is no actor, such as ann, ann@there or w1..w64");
  };
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) throw wrong();
  const std::size_t dots = text.find("..");
  if (dots == text.npos) {
    actors.push_back({text, there});
    return;
  }
  const std::size_t digits = std::min(text.find_first_of("0123456789"), dots);
  const std::string name = text.substr(0, digits);
  Words numbers({"from", text.substr(digits, dots - digits), "to",
                 text.substr(std::min(dots + 2 + digits, text.size()))});
  const int first = numbers.NumberAfter("from").value();
  const int last = numbers.NumberAfter("to").value();
  if (text.substr(dots + 2, digits) != name || first < 0 || first > last) throw wrong();
  for (int i = first; i <= last; ++i) actors.push_back({name + std::to_string(i), there});
}

/// ann; ann@there; ann,bob; zoe,w1..w64
std::vector<Actor> ActorsOf(std::string text) {
  const bool there = text.ends_with("@there");
  if (there) text.resize(text.size() - 6);
  std::vector<Actor> actors;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    AddActors(text.substr(begin, end - begin), there, actors);
    begin = end + 1;
  }
  return actors;
}

}  // namespace

Verbs::Verbs(std::initializer_list<const char*> usages) {
  for (const std::string usage : usages) {
    const std::vector<std::string> words = Split(usage);
    usages_.emplace(words[0] == "WHO" ? words[1] : words[0], usage);
  }
}

const std::string& Verbs::UsageOf(const std::string& verb) const {
  const auto found = usages_.find(verb);
  if (found != usages_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, usage] : usages_) names.push_back(name);
  throw ScriptError(Quoted(verb) + " is no verb of this level, which has: " + Joined(names));
}

Command CommandOf(std::vector<std::string> words, const Verbs& verbs) {
  if (words.empty()) throw ScriptError("the step is empty");
  const std::string first = words.front();
  const bool is_verb = verbs.Contains(first);
  if (is_verb && verbs.HasActor(first)) {
    throw ScriptError(Quoted(first) + " needs an actor: " + verbs.UsageOf(first));
  }
  if (is_verb) return {{}, first, Words({words.begin() + 1, words.end()})};
  std::vector<Actor> actors = ActorsOf(first);
  if (words.size() == 1) throw ScriptError(Quoted(first) + " does nothing: WHO VERB ...");
  if (!verbs.HasActor(words[1])) {
    throw ScriptError(Quoted(words[1]) + " has no actor: " + verbs.UsageOf(words[1]));
  }
  return {std::move(actors), words[1], Words({words.begin() + 2, words.end()})};
}

std::string FirstAndLast(const std::string& first, const std::string& last) {
  return first == last ? first : first + " .. " + last;
}

std::string WordOf(Errc code) {
  static constexpr std::pair<Errc, const char*> kWords[] = {
      {Errc::kBusy, "busy"},           {Errc::kTimedOut, "timed out"},
      {Errc::kCancelled, "cancelled"}, {Errc::kLost, "lost"},
      {Errc::kConflict, "conflict"},   {Errc::kNotOwner, "not the owner"},
      {Errc::kNotFound, "missing"},    {Errc::kDocument, "bad document"},
      {Errc::kRefused, "refused"},     {Errc::kUnavailable, "unavailable"},
      {Errc::kInDoubt, "in doubt"},    {Errc::kMalformed, "malformed"},
      {Errc::kClosed, "closed"},       {Errc::kForked, "forked"}};
  const auto* const found = std::find_if(std::begin(kWords), std::end(kWords),
                                         [&](const auto& word) { return word.first == code; });
  return found->second;
}

std::string Intervene(const std::string& verb, Store& store, const Key& key) {
  try {
    const auto how = verb == "break"   ? testing::BreakLock
                     : verb == "steal" ? testing::StealLock
                                       : testing::ExpireLock;
    how(store, "things", key);
    return "done";
  } catch (const Error& error) {
    return WordOf(error.errc());
  }
}

}  // namespace doclock::conformance::script
