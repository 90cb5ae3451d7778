#include "player.h"

#include <exception>
#include <memory>

#include "stage.h"

namespace doclock::conformance::script {
namespace {

/// Does a step and returns what is wrong with the answer. Of an answer that is as expected, the
/// expected text is kept.
std::string WrongIn(const Step& step, Stage& stage, const Slack& slack, Answer& got) {
  got.reply = stage.Do(stage.Read(Split(step.text)));
  got.change = stage.Look(step.expected.change);
  std::string wrong;
  const bool is_broken = (got.reply + got.change).find("BUT ") != std::string::npos;
  const auto compare = [&](const std::string& mark, std::string Answer::*part) {
    if (!is_broken && Matches(step.expected.*part, got.*part, slack.now())) {
      got.*part = step.expected.*part;
    } else {
      wrong += "  expected " + mark + step.expected.*part + "\n";
      wrong += "  got      " + mark + got.*part + "\n";
    }
  };
  compare("-> ", &Answer::reply);
  compare("| ", &Answer::change);
  return wrong;
}

void PlayCase(const Script& script, const Case& one, Backend backend, Result& result) {
  const Slack slack(backend.slack);
  const std::unique_ptr<Stage> stage =
      (script.is_public ? MakePublicStage : MakeStoreStage)(std::move(backend));
  std::vector<Step> steps = script.beginning;
  steps.insert(steps.end(), one.steps.begin(), one.steps.end());
  bool noted = false;
  for (const Step& step : steps) {
    std::string wrong;
    Answer got;
    bool goes_on = true;
    try {
      wrong = WrongIn(step, *stage, slack, got);
      if (!wrong.empty()) result.answers[step.line] = got;
    } catch (const std::exception& error) {
      wrong = std::string("  ") + error.what();
      goes_on = false;
    }
    if (!wrong.empty() && !std::exchange(noted, true)) {
      result.mistakes.push_back({step.line, one.title + "\n  " + step.text + "\n" + wrong});
    }
    if (!goes_on) return;
  }
  try {
    stage->Finish();
  } catch (const ScriptError& error) {
    result.mistakes.push_back({one.line, one.title + "\n  " + error.what() + "\n"});
  }
}

}  // namespace

Result Play(const Script& script, const StoreKind& kind) {
  Result result;
  Backend backend;
  for (const Case& one : script.cases) {
    if (!backend.store) backend = kind.make();
    if (!CanPlay(backend, one)) {
      ++result.left_out;
      continue;
    }
    ++result.played;
    PlayCase(script, one, std::exchange(backend, {}), result);
  }
  return result;
}

}  // namespace doclock::conformance::script
