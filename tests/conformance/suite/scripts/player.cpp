#include "player.h"

#include <exception>
#include <memory>

#include "stage.h"

namespace doclock::conformance::script {
namespace {

Answer Act(Stage& stage, const Step& step) {
  Command command = CommandOf(Split(step.text), stage.verbs());
  Answer answer;
  try {
    answer.reply = stage.Do(command);
    command.words.Finish();
  } catch (const ScriptError& error) {
    throw ScriptError(std::string(error.what()) +
                      "; write: " + stage.verbs().UsageOf(command.verb));
  }
  answer.change = stage.Look(step.expected.change);
  return answer;
}

class CasePlayer {
 public:
  CasePlayer(const Case& one, Backend backend, bool is_public, Result& result)
      : title_(one.title),
        slack_(backend.slack),
        result_(result),
        stage_(is_public ? MakePublicStage(std::move(backend))
                         : MakeStoreStage(std::move(backend))) {}

  /// Returns whether the case can go on.
  bool Play(const Step& step) {
    try {
      Compare(step, Act(*stage_, step));
      return true;
    } catch (const std::exception& error) {
      Note(step, std::string("  ") + error.what());
      return false;
    }
  }

 private:
  void Compare(const Step& step, Answer got) {
    const Answer& expected = step.expected;
    std::string wrong;
    if (Matches(expected.reply, got.reply, slack_.now())) {
      got.reply = expected.reply;
    } else {
      wrong += "  expected -> " + expected.reply + "\n  got      -> " + got.reply + "\n";
    }
    if (Matches(expected.change, got.change, slack_.now())) {
      got.change = expected.change;
    } else {
      wrong += "  expected | " + expected.change + "\n  got      | " + got.change + "\n";
    }
    if (wrong.empty()) return;
    result_.answers[step.line] = std::move(got);
    Note(step, wrong);
  }
  void Note(const Step& step, const std::string& wrong) {
    if (noted_) return;
    noted_ = true;
    result_.mistakes.push_back({step.line, title_ + "\n  " + step.text + "\n" + wrong});
  }

  const std::string& title_;
  const Slack slack_;
  Result& result_;
  std::unique_ptr<Stage> stage_;
  bool noted_ = false;
};

}  // namespace

Result Play(const Script& script, const StoreKind& kind) {
  Result result;
  Backend backend;
  for (const Case& one : script.cases) {
    if (!backend.store) backend = kind.make();
    if (!CanPlay(backend, script, one)) {
      ++result.left_out;
      continue;
    }
    ++result.played;
    CasePlayer player(one, std::exchange(backend, {}), script.is_public, result);
    bool goes_on = true;
    for (const std::vector<Step>* const steps : {&script.beginning, &one.steps}) {
      for (const Step& step : *steps) goes_on = goes_on && player.Play(step);
    }
  }
  return result;
}

}  // namespace doclock::conformance::script
