// The command line of `doclock`: it is read, or refused in one line with the exit code for it; no
// message shows the store's URL.
//
// A line of the input is a word. "@" stands for the option --store with a password in its value,
// and
// "=@" for the same in one word.

#include "cli/command_line.h"

#include <iostream>
#include <sstream>

#include "cli/output/exit_codes.h"
#include "fuzz/support/fuzz.h"

namespace doclock::fuzz {
namespace {

constexpr std::string_view kSecret = "0p3nS3s4m3";

std::vector<std::string> WordsOf(std::string_view text) {
  constexpr std::size_t kWords = 30;
  const std::string url = "mongodb://user:" + std::string(kSecret) + "@host/database";
  std::vector<std::string> words{"doclock"};
  for (std::string& line : LinesOf(text, kWords)) {
    line = line.substr(0, line.find('\0'));  // as the system hands it over
    if (line == "@") {
      words.insert(words.end(), {"--store", url});
    } else {
      words.push_back(line == "=@" ? "--store=" + url : std::move(line));
    }
  }
  return words;
}

/// What is printed meanwhile.
class Captured {
 public:
  Captured() : out_(std::cout.rdbuf(text_.rdbuf())), err_(std::cerr.rdbuf(errors_.rdbuf())) {}
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
  }
  [[nodiscard]] std::string output() const { return text_.str(); }
  [[nodiscard]] std::string errors() const { return errors_.str(); }

 private:
  std::ostringstream text_, errors_;
  std::streambuf* out_;
  std::streambuf* err_;
};

/// What the words behind the options mean is checked when the command is done, which is not tried.
void CheckArguments(const cli::Arguments& arguments) {
  if (arguments.command == nullptr) return;  // --version --json
  Require(arguments.action != nullptr, "a command can be done");
  Require(!arguments.collection.empty(), "there is a collection");
  const bool is_run = std::string_view(arguments.command->name) == "run";
  Require(is_run || arguments.behind.empty(), "only run has a command of its own");
}

void Try(std::string_view text) {
  std::vector<std::string> words = WordsOf(text);
  const bool told = text.find(kSecret) != std::string_view::npos;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const Captured captured;
  const cli::CommandLine line = cli::ParseCommandLine(static_cast<int>(words.size()), argv.data());
  const std::string output = captured.output(), errors = captured.errors();
  Require(told || (output + errors).find(kSecret) == std::string::npos, "no password is printed");
  if (line.arguments) {
    Require(output.empty() && errors.empty(), "a command line that is read prints nothing");
    CheckArguments(*line.arguments);
    return;
  }
  Require(line.exit_code == cli::kOk || line.exit_code == cli::kUsage, "an exit code is known");
  const auto lines = std::count(errors.begin(), errors.end(), '\n');
  Require(line.exit_code == cli::kOk ? errors.empty() && !output.empty()
                                     : lines == 1 && errors.ends_with('\n') && output.empty(),
          "help is printed, or one line of what is wrong");
}

}  // namespace
}  // namespace doclock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doclock::fuzz;
  if (size <= kLongestInput) Try(TextOf(data, size));
  return 0;
}
