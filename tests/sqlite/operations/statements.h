#pragma once

#include <string>
#include <vector>

namespace doclock::sqlite_test {

/// Notes the statements that are run on connections which are opened while it lives.
class Statements {
 public:
  Statements();
  Statements(const Statements&) = delete;
  Statements& operator=(const Statements&) = delete;
  ~Statements();

  /// What was run since the last call, but for what begins and ends transactions: the first word
  /// and the last letter that names a table ("SELECT c").
  [[nodiscard]] std::vector<std::string> Take();
};

}  // namespace doclock::sqlite_test
