#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
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

/// The verbs of a level, each with its words in order: "WHO release KEY [v1]". Verbs without WHO
/// have no actor.
class Verbs {
 public:
  Verbs(std::initializer_list<const char*> usages);

  /// Returns how a verb is written.
  /// @throws ScriptError if there is no such verb
  [[nodiscard]] const std::string& UsageOf(const std::string& verb) const;
  [[nodiscard]] bool Contains(const std::string& verb) const { return usages_.contains(verb); }
  [[nodiscard]] bool HasActor(const std::string& verb) const {
    return UsageOf(verb).starts_with("WHO ");
  }

 private:
  std::map<std::string, std::string> usages_;
};

/// A step that was read: who does what.
struct Command {
  std::vector<Actor> actors;
  std::string verb;
  Words words;
};

/// Reads a step: `advance 5s`, `ann renew 42`, `w1..w64,ben@there acquire 42 shared`.
/// @throws ScriptError
Command CommandOf(std::vector<std::string> words, const Verbs& verbs);

/// Where a case is played: an empty store, and all its actors.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  [[nodiscard]] virtual const Verbs& verbs() const = 0;
  /// Does a step and returns the reply. Several actors act one after the other.
  virtual std::string Do(Command& command) = 0;
  /// Returns what can be seen to have changed since the last look. The expected change only tells a
  /// moment that is earlier by some of the store's slack from one that is wrong.
  virtual std::string Look(const std::string& expected) = 0;
};

/// Plays the operations of a store.
std::unique_ptr<Stage> MakeStoreStage(Backend backend);
/// Plays calls of the public API on virtual time.
std::unique_ptr<Stage> MakePublicStage(Backend backend);

/// Joins the replies of the first and the last of several actors: `lost`, `granted v2 .. busy`.
std::string FirstAndLast(const std::string& first, const std::string& last);
/// Returns the word for a code.
std::string WordOf(Errc code);
/// Does what `break`, `steal` and `expire` say, and returns the reply.
std::string Intervene(const std::string& verb, Store& store, const Key& key);

}  // namespace doclock::conformance::script
