#pragma once

#include <map>
#include <string>

namespace doclock::host_test {

/// Something that a program can set for its whole process, or for the thread that calls the
/// library.
struct Setting {
  void (*apply)();
  bool is_of_sqlite = false;
};

/// All of them, by name. Those of SQLite are there only if its store is built.
const std::map<std::string, Setting>& Settings();

}  // namespace doclock::host_test
