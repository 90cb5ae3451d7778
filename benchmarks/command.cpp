/// `doclock run NAME -- true`, from start to end, beside `flock FILE true`.

#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "compare.h"
#include "sqlite_floor.h"

namespace doclock::bench {
namespace {

/// Runs a program to its end. What it prints goes where ours goes.
void Run(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  if (::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0 ||
      ::waitpid(child, &status, 0) != child || status != 0) {
    std::abort();
  }
}

/// The number of the sync option is that of SqliteSync: 0 is the default, `full`.
void DoclockRunBesideFlock(benchmark::State& state) {
  const TempFolder folder;
  const std::string file = folder / "flock";
  std::string url = "sqlite:" + (folder / "locks.db").string();
  if (state.range(0) == static_cast<int>(SqliteSync::kNormal)) url += "?sync=normal";
  const std::vector<std::string> floor{"flock", file, "true"};
  const std::vector<std::string> ours{DOCLOCK_CLI, "run", "--store", url, "job", "--", "true"};
  Run(ours);  // makes the file
  const auto milliseconds = [](const std::vector<std::string>& command) {
    return 1000 / Rate([&] { Run(command); });
  };
  Compare(
      state, {}, [&] { return milliseconds(floor); }, [&] { return milliseconds(ours); });
}
BENCHMARK(DoclockRunBesideFlock)
    ->ArgName("sync")
    ->Arg(static_cast<int>(SqliteSync::kFull))
    ->Arg(static_cast<int>(SqliteSync::kNormal))
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
