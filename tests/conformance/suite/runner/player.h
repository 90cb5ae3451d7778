#pragma once

#include <map>
#include <string>
#include <vector>

#include "script.h"

namespace doclock::conformance::script {

/// What came of a script on a store.
struct Result {
  int played = 0;    ///< Cases that the store could play.
  int left_out = 0;  ///< Cases that need what the store does not have.
  /// At most one of each case, with its place.
  struct Mistake {
    std::size_t line;
    std::string text;
  };
  std::vector<Mistake> mistakes;
  /// Answers other than the expected ones, by the lines of their steps.
  std::map<std::size_t, Answer> answers;
};

/// Plays each case of a script on an empty store of this kind.
Result Play(const Script& script, const StoreKind& kind);

}  // namespace doclock::conformance::script
