#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"

namespace doclock::cli_test {

/// The command over a SQLite file of its own.
class CliTest : public ::testing::Test {
 protected:
  static std::vector<std::string> Command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), DOCLOCK_CLI);
    return arguments;
  }
  Ended Doclock(std::vector<std::string> arguments, const std::string& input = "") {
    return Program(Command(std::move(arguments)), {store, temporary}, input).Wait();
  }
  nlohmann::json Json(const std::vector<std::string>& words) {
    return nlohmann::json::parse(Doclock(words).out);
  }
  /// What the doctor found of one thing; null: it did not look.
  nlohmann::json Found(const std::string& check) {
    for (const nlohmann::json& one : Json({"doctor", "--json"})) {
      if (one.at("check") == check) return one;
    }
    return {};
  }
  /// Is the lock held, as another process sees it?
  bool IsHeld(const std::string& name) {
    return Doclock({"status", "--live", name, "--json"}).out != "[]\n";
  }
  /// A command that says in a file that it is there, and stays there until the file `go` is.
  std::vector<std::string> Staying() {
    return {"sh", "-c",
            "echo $$ > '" + (folder / "here.new") + "'; mv '" + (folder / "here.new") + "' '" +
                (folder / "here") + "'; while ! [ -e '" + (folder / "go") +
                "' ]; do sleep 0.01; done"};
  }
  std::vector<std::string> Run(std::vector<std::string> options,
                               const std::vector<std::string>& command) {
    options.insert(options.begin(), "run");
    options.push_back("--");
    options.insert(options.end(), command.begin(), command.end());
    return Command(std::move(options));
  }
  bool IsThere() {
    return Eventually([&] { return std::filesystem::exists(folder / "here"); });
  }
  /// Holds a lock while a command stays.
  struct Holding : Program {
    Holding(CliTest& test, std::vector<std::string> options)
        : Program(test.Run(std::move(options), test.Staying()), {test.store}) {
      if (!test.IsThere()) throw std::runtime_error("the command does not run");
    }
  };
  /// The process number of the staying command.
  pid_t Stayer() { return static_cast<pid_t>(std::stol(TextOf(folder / "here"))); }

  Folder folder;
  std::string store = "DOCLOCK_STORE=sqlite:" + (folder / "locks.db");
  /// Files that `edit` keeps are deleted with the folder.
  std::string temporary = "TMPDIR=" + (folder / ".");
};

/// Does the process run, or wait to be reaped by another process?
inline bool Exists(pid_t process) {
  try {
    const std::string stat = TextOf("/proc/" + std::to_string(process) + "/stat");
    const auto state = stat.rfind(") ");
    return state != stat.npos && stat[state + 2] != 'Z';
  } catch (const std::ios_base::failure&) {
    return false;  // it ended between the file's opening and its reading
  }
}

}  // namespace doclock::cli_test
