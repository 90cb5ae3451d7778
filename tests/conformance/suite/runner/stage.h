#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../store_conformance.h"
#include "words.h"

namespace doclock::conformance::script {

/// Who does a step.
struct Actor {
  std::string name;
  bool there = false;  ///< In another process: it has another store over the same data, or
                       ///< at the public level another LockManager.
};

/// What one actor does in a step. A verb without WHO has an actor without a name.
struct Turn {
  const Actor& actor;
  Words& words;  ///< Behind the verb.
};
/// Does a turn and returns the reply.
using Act = std::function<std::string(const Turn& turn)>;

/// A verb of a level: how it is written, such as "WHO release KEY [v1]", and what it does. A verb
/// without WHO has no actor.
struct Verb {
  std::string usage;
  Act act;
  [[nodiscard]] bool has_actor() const { return usage.starts_with("WHO "); }
};

/// A step that was read: who does what.
struct Command {
  const Verb& verb;
  std::vector<Actor> actors;
  Words words;
};

/// Where a case is played: an empty store, and all its actors.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  /// Reads a step: `advance 5s`, `ann renew 42`, `w1..w64,ben@there acquire 42 shared`.
  /// @throws ScriptError
  [[nodiscard]] Command Read(std::vector<std::string> words) const;
  /// Does a step and returns the reply. Several actors act one after the other.
  std::string Do(const Command& command);
  /// Returns what can be seen to have changed since the last look. The expected change only tells a
  /// moment that is earlier by some of the store's slack from one that is wrong.
  virtual std::string Look(const std::string& expected) = 0;
  /// Ends the case. @throws ScriptError if something was prepared that never happened
  virtual void Finish() {}

 protected:
  void Add(const std::string& usage, Act act);
  /// Does one turn of a step.
  virtual std::string Take(const Verb& verb, const Turn& turn) = 0;

 private:
  std::map<std::string, Verb> verbs_;
};

/// Plays the operations of a store.
std::unique_ptr<Stage> MakeStoreStage(Backend backend);
/// Plays calls of the public API on virtual time.
std::unique_ptr<Stage> MakePublicStage(Backend backend);

/// Joins the replies of several actors: `lost` of all; `granted v2 .. busy` of the first and the
/// last, if they differ; else each in turn.
std::string AsOne(std::vector<std::string> replies);
/// Returns the word for a code.
std::string WordOf(Errc code);

using Intervention = void (*)(Store& store, const std::string& collection, const Key& key);
/// How the verbs for what a user's tests may do to a lock are written, and what they call.
constexpr std::pair<const char*, Intervention> kInterventions[] = {
    {"break KEY", testing::BreakLock},
    {"steal KEY", testing::StealLock},
    {"expire KEY", testing::ExpireLock}};
/// Does one of them and returns the reply.
std::string Intervene(Intervention change, Store& store, const Key& key);

}  // namespace doclock::conformance::script
