#include "stage.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "doclock/errors.h"

namespace doclock::conformance::script {
namespace {

constexpr int kMostActors = 10'000;

/// ann; ann@there; w1..w64@there
void AddActors(std::string text, std::vector<Actor>& actors) {
  const auto wrong = [&]() -> ScriptError {
    return ScriptError(Quoted(text) + " is no actor, such as ann, ann@there or w1..w64");
  };
  const bool there = text.ends_with("@there");
  if (there) text.resize(text.size() - 6);
  const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0; };
  const std::size_t dots = text.find("..");
  const std::string joined = dots == text.npos ? text : std::string(text).erase(dots, 2);
  if (joined.empty() || std::isdigit(static_cast<unsigned char>(joined[0])) != 0 ||
      !std::ranges::all_of(joined, is_part)) {
    throw wrong();
  }
  if (dots == text.npos) return actors.push_back({text, there});
  const std::size_t digits = std::min(text.find_first_of("0123456789"), dots);
  const std::string name = text.substr(0, digits);
  Words numbers({"from", text.substr(digits, dots - digits), "to",
                 text.substr(std::min(dots + 2 + digits, text.size()))});
  const int first = numbers.NumberAfter("from").value();
  const int last = numbers.NumberAfter("to").value();
  if (text.substr(dots + 2, digits) != name || first < 0 || first > last ||
      last - first >= kMostActors) {
    throw wrong();
  }
  for (int i = first; i <= last; ++i) actors.push_back({name + std::to_string(i), there});
}

/// ann; ann,bob@there; zoe,w1..w64
std::vector<Actor> ActorsOf(const std::string& text) {
  std::vector<Actor> actors;
  for (const std::string& one : AtCommas(text)) AddActors(one, actors);
  return actors;
}

}  // namespace

void Stage::Add(const std::string& usage, Act act) {
  const std::vector<std::string> words = Split(usage);
  verbs_.emplace(words[0] == "WHO" ? words[1] : words[0], Verb{usage, std::move(act)});
}

Command Stage::Read(std::vector<std::string> words) const {
  if (words.empty()) throw ScriptError("the step is empty");
  std::vector<Actor> actors{Actor{}};
  auto verb = words.begin();
  auto found = verbs_.find(*verb);
  if (found == verbs_.end()) {
    actors = ActorsOf(*verb++);
    if (verb == words.end()) throw ScriptError(Quoted(words[0]) + " does nothing: WHO VERB ...");
    found = verbs_.find(*verb);
  }
  if (found == verbs_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, known] : verbs_) names.push_back(name);
    throw ScriptError(Quoted(*verb) + " is no verb of this level, which has: " + Joined(names));
  }
  const Verb& known = found->second;
  if (known.has_actor() != (verb != words.begin())) {
    const char* const wrong = known.has_actor() ? " needs an actor: " : " has no actor: ";
    throw ScriptError(Quoted(*verb) + wrong + known.usage);
  }
  return {known, std::move(actors), Words({verb + 1, words.end()})};
}

std::string Stage::Do(const Command& command) {
  std::vector<std::string> replies;
  try {
    for (const Actor& actor : command.actors) {
      Words words = command.words;
      replies.push_back(Take(command.verb, {actor, words}));
      words.Finish();
    }
  } catch (const ScriptError& error) {
    throw ScriptError(std::string(error.what()) + "; write: " + command.verb.usage);
  }
  return AsOne(std::move(replies));
}

std::string AsOne(std::vector<std::string> replies) {
  const auto is_broken = [](const std::string& reply) { return reply.find("BUT ") != reply.npos; };
  const bool ends_differ = replies.front() != replies.back();
  if (ends_differ && std::ranges::none_of(replies, is_broken)) {
    return replies.front() + " .. " + replies.back();
  }
  replies.erase(std::unique(replies.begin(), replies.end()), replies.end());
  return Joined(replies, " .. ");
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

std::string Intervene(Intervention change, Store& store, const Key& key) {
  try {
    change(store, "things", key);
    return "done";
  } catch (const Error& error) {
    return WordOf(error.errc());
  }
}

}  // namespace doclock::conformance::script
