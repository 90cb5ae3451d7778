#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "../store_conformance.h"
#include "words.h"

namespace doclock::conformance::script {

/// What a step was answered, and what it changed.
struct Answer {
  std::string reply;   ///< Behind `->`.
  std::string change;  ///< Behind `|`; empty: nothing that can be seen changed.
  bool operator==(const Answer&) const = default;
};

/// One action of a case.
struct Step {
  std::size_t line = 0;   ///< Its first line, from 0.
  std::size_t lines = 1;  ///< How many lines it takes.
  std::string text;       ///< Actor, verb and options.
  Answer expected;
};

/// Steps on an empty store of their own.
struct Case {
  std::size_t line = 0;
  std::string title;
  std::vector<std::string> needs;  ///< Those of the file too.
  std::vector<Step> steps;
};

/// A file of cases.
struct Script {
  std::filesystem::path file;
  std::vector<std::string> lines;
  bool is_public = false;       ///< Are its steps calls of the public API, and not of a store?
  std::vector<Step> beginning;  ///< The first steps of each case.
  std::vector<Case> cases;
};

/// The place of a line, as compilers write it.
std::string PlaceOf(const Script& script, std::size_t line);

/// Reads a script.
/// @throws ScriptError whose text begins with the place, if it is none
Script Parse(const std::filesystem::path& file, const std::string& text);
Script Load(const std::filesystem::path& file);

/// Returns whether a store has all that this case needs.
bool CanPlay(const Backend& backend, const Case& one);

/// Writes the text of a script with other answers, by the first lines of their steps.
std::string Rewritten(const Script& script, const std::map<std::size_t, Answer>& answers);

/// Returns whether an answer is the expected one. `...` stands for any words. A moment may be
/// earlier by `slack`.
bool Matches(const std::string& expected, const std::string& got, Ms slack);
/// Returns `got` with each moment that is up to `slack` earlier than one of `expected` replaced by
/// that one.
std::string Snapped(const std::string& got, const std::string& expected, Ms slack);

}  // namespace doclock::conformance::script
