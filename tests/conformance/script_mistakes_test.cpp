/// Scripts that are wrong are refused with their place, and each case of the suite's scripts is
/// played by a store.

#include <gmock/gmock.h>

#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "conformance/suite/runner/player.h"

namespace doclock::conformance::script {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Mistake {
  const char* name;
  std::string text;
  std::string place;    ///< The line.
  std::string message;  ///< A part of it.
};

const std::string kCase = "== A case\n";

std::vector<Mistake> Mistakes() {
  return {
      // The file
      {"Empty", "", "x.script:1: ", "there is no case"},
      {"NoCase", "# Words only.\nlevel: public\n", "x.script:2: ", "there is no case"},
      {"OnlyABeginning", "== Every case begins so\nann create 42 -> ...\n",
       "x.script:2: ", "no case beside the beginning"},
      {"BeginningNotFirst", kCase + "purge -> ...\n== Every case begins so\npurge\n",
       "x.script:3: ", "must be the first"},
      {"RepeatedTitle", kCase + "purge -> ...\n" + kCase + "purge -> ...\n",
       "x.script:3: ", "the title stands twice"},
      {"NoTitle", "==\n", "x.script:1: ", "the case has no title"},
      {"NoStep", kCase + "== Another\npurge -> ...\n",
       "x.script:2: ", "the case before has no step"},
      {"NoLastStep", kCase, "x.script:1: ", "the case has no step"},
      {"StepBeforeACase", "purge\n", "x.script:1: ", "before the first case"},
      {"UnknownHeader", "lewel: public\n", "x.script:1: ", "before the first case"},
      {"UnknownLevel", "level: publik\n",
       "x.script:1: ", "level: can only be public, and 'publik' stands here"},
      {"LevelOfACase", kCase + "level: public\n", "x.script:2: ", "before the first case"},
      {"UnknownNeed", kCase + "needs: kueues\npurge\n",
       "x.script:2: ", "a store cannot have 'kueues', only: queues, transactions,"},
      {"NeedsNothing", "needs:\n" + kCase, "x.script:1: ", "names nothing"},
      {"NeedBehindAStep", kCase + "purge\nneeds: queues\n",
       "x.script:3: ", "before the steps of its case"},
      // Answers
      {"AnswerWithoutAStep", kCase + "-> done\n",
       "x.script:2: ", "an answer stands without a step"},
      {"AnswerOfNoStep", kCase + "   -> done\n", "x.script:2: ", "an answer stands without a step"},
      {"AnswerApart", kCase + "ann acquire 42\n# why\n   -> done\n",
       "x.script:4: ", "an answer stands apart from its step"},
      {"TwoReplies", kCase + "purge -> done\n   -> lost\n",
       "x.script:3: ", "two answers of a kind"},
      {"GoesOnWithWords", kCase + "purge -> done,\n   v1\n",
       "x.script:3: ", "a line that goes on begins with -> or |"},
      {"BrokenPromise", kCase + "ann acquire 42 -> granted v1, BUT BORN OF ANOTHER\n",
       "x.script:2: ", "which no answer may expect"},
      {"GluedAnswer", kCase + "purge ->0 cleared\n",
       "x.script:2: ", "a space stands on both sides"},
      // Steps
      {"UnknownVerb", kCase + "ann grab 42 -> granted v1\n",
       "x.script:2: ", "'grab' is no verb of this level, which has: acquire, advance,"},
      {"NoVerb", kCase + "ann -> granted v1\n", "x.script:2: ", "'ann' does nothing"},
      {"NoActor", kCase + "acquire 42 -> granted v1\n",
       "x.script:2: ", "'acquire' needs an actor: WHO acquire KEY"},
      {"ActorTooMany", kCase + "ann advance 5s\n",
       "x.script:2: ", "'advance' has no actor: advance TIME"},
      {"NoSuchActor", kCase + "w3..w1 renew 42 -> lost\n", "x.script:2: ", "'w3..w1' is no actor"},
      {"ActorWithoutAName", kCase + "ann,,bob renew 42 -> lost\n",
       "x.script:2: ", "'' is no actor"},
      {"ActorOfNoProcess", kCase + "ann@here renew 42 -> lost\n",
       "x.script:2: ", "'ann@here' is no actor"},
      {"TooManyActors", kCase + "w1..w99999 renew 42 -> lost\n",
       "x.script:2: ", "'w1..w99999' is no actor"},
      {"OneOfManyIsToldOtherwise",
       kCase + "ann create 42 -> ... | ...\nbob,ann,cid renew 42 -> lost\n",
       "x.script:3: ", "got      -> lost .. done .. lost"},
      {"BatchInABatch", kCase + "batch purge ; batch purge -> ...\n",
       "x.script:2: ", "write: batch"},
      {"TimeGoesBack", kCase + "advance -5s\n", "x.script:2: ", "time does not go back"},
      {"TimeOfNoClock", kCase + "advance 99999999999h\n", "x.script:2: ", "is no length of time"},
      {"UnreadWord", kCase + "ann acquire 42 shraed -> missing\n",
       "x.script:2: ", "'shraed' means nothing here; write: WHO acquire KEY [{BODY}] [shared]"},
      {"UnreadWordOfABatch", kCase + "batch ann renew 42 now ; bob renew 42 -> lost\n",
       "x.script:2: ", "'now' means nothing here"},
      {"NoOperationOfABatch", kCase + "batch ann renew 42 ; locks -> ...\n",
       "x.script:2: ", "a step is no operation on a document; write: batch WHO VERB"},
      {"MissingWord", kCase + "ann acquire -> missing\n",
       "x.script:2: ", "a word is missing at the end; write: WHO acquire KEY"},
      {"MissingValue", kCase + "ann acquire 42 ttl -> missing\n",
       "x.script:2: ", "a word is missing behind 'ttl'"},
      {"NoLength", kCase + "advance 5\n", "x.script:2: ", "'5' is no length of time"},
      {"NoNumber", kCase + "ann acquire 42 limit many -> missing\n",
       "x.script:2: ", "'many' is no number"},
      {"NoJson", kCase + "ann create 42 {a:1} -> granted v1\n",
       "x.script:2: ", "'{a:1}' is not JSON"},
      {"OpenBracket", kCase + "ann create 42 {\"a\":1 -> granted v1\n",
       "x.script:2: ", "a bracket does not end"},
      {"NoSuchLife", kCase + "ann replace 42 v1 {} life 2 -> missing\n",
       "x.script:2: ", "the document had no such life"},
      {"NeedThatIsNotSaid", kCase + "spoil 42\n", "x.script:2: ", "does not say needs: spoil"},
      // Steps of the public API
      {"VerbOfTheOtherLevel", "level: public\n" + kCase + "ann checkpoint 42 -> done\n",
       "x.script:3: ", "'checkpoint' is no verb of this level"},
      {"NoHandle", "level: public\n" + kCase + "ann release 42 -> done\n",
       "x.script:3: ", "ann has no handle of 42; write: WHO release KEY"},
      {"NoFault", "level: public\n" + kCase + "fail next 1 write somehow\n",
       "x.script:3: ", "the kind of fault is missing"},
      {"FaultThatNeverStrikes", "level: public\n" + kCase + "fail next 1 write unsent\nrun\n",
       "x.script:2: ", "a fault never struck"},
      {"DuringNoCall", "level: public\n" + kCase + "during write break 42\nrun\n",
       "x.script:2: ", "what was to happen during a call did not"},
      {"MistakeDuringACall",
       "level: public\n" + kCase +
           "ann lock 42 {} -> ... | ...\nduring write break\nann release 42 -> ... | ...\n",
       "x.script:5: ", "meanwhile break: BUT"},
      {"NoPart",
       "level: public\n" + kCase + "ann acquire a -> ... | ...\nann commit hold a -> done\n",
       "x.script:4: ", "'hold' is no part of a transaction"},
      // Wrong answers
      {"WrongReply", kCase + "ann acquire 42 -> granted v1\n",
       "x.script:2: ", "expected -> granted v1\n  got      -> missing"},
      {"WrongChange", kCase + "ann create 42 -> ...\n",
       "x.script:2: ", "expected | \n  got      | v1, {}, held by ann until 0:30"},
      {"OnlyTheFirstOfACase", kCase + "purge\npurge\n", "x.script:2: ", "0 cleared"},
  };
}

/// Everything that is said of a script on the first local store that has all.
std::string SaidOf(const std::string& text) {
  try {
    const Script script = Parse("x.script", text);
    std::string said;
    for (const auto& [line, mistake] : Play(script, LocalStores().front()).mistakes) {
      said += PlaceOf(script, line) + mistake + "\n";
    }
    return said;
  } catch (const ScriptError& error) {
    return error.what();
  }
}

class ScriptMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(ScriptMistakes, AreRefusedWithTheirPlace) {
  const Mistake& mistake = GetParam();
  const std::string said = SaidOf(mistake.text);
  EXPECT_THAT(said, StartsWith(mistake.place));
  EXPECT_THAT(said, HasSubstr(mistake.message));
}

INSTANTIATE_TEST_SUITE_P(All, ScriptMistakes, ::testing::ValuesIn(Mistakes()),
                         [](const auto& mistake) { return mistake.param.name; });

TEST(Script, ARightOneIsPlayedWithoutAWord) {
  EXPECT_EQ(SaidOf("# Words.\n" + kCase +
                   "ann create 42 -> granted v1, created | v1, {}, held by ann until 0:30\n"
                   "bob acquire 42 -> busy ... (ann)\n"),
            "");
}

TEST(Script, RewritingKeepsWhatMatches) {
  const std::string head = "# Words.\n\n" + kCase + "# More words.\n";
  const Script script = Parse("x.script", head +
                                              "ann create 42 -> wrong\n        | v1, ...\n"
                                              "bob acquire 42 -> ... (ann)\n");
  const Result result = Play(script, LocalStores().front());
  EXPECT_EQ(
      Rewritten(script, result.answers),
      head + "ann create 42  -> granted v1, created | v1, ...\nbob acquire 42 -> ... (ann)\n");
}

TEST(Script, AMomentOfARealServerMayBeEarlier) {
  EXPECT_TRUE(Matches("busy until 0:30 (ann)", "busy until 0:29.5 (ann)", 8s));
  EXPECT_FALSE(Matches("busy until 0:30 (ann)", "busy until 0:29.5 (ann)", 0s));
  EXPECT_FALSE(Matches("busy until 0:30 (ann)", "busy until 0:21 (ann)", 8s));
  EXPECT_FALSE(Matches("busy until 0:30 (ann)", "busy until 0:31 (ann)", 8s));
  EXPECT_FALSE(Matches("until 0:30 (ann)", "until 0:29 (bob)", 8s));
}

TEST(Script, EachCaseIsPlayedByAStore) {
  std::vector<Backend> backends;
  for (const StoreKind& kind : LocalStores()) backends.push_back(kind.make());
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DOCLOCK_CONFORMANCE_SCRIPTS)) {
    if (entry.path().extension() != ".script") continue;
    const Script script = Load(entry.path());
    for (const Case& one : script.cases) {
      ++cases;
      const auto plays = [&](const Backend& backend) { return CanPlay(backend, one); };
      EXPECT_TRUE(std::any_of(backends.begin(), backends.end(), plays))
          << PlaceOf(script, one.line) << "no local store can play " << one.title;
    }
  }
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace doclock::conformance::script
