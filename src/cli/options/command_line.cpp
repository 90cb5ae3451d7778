#include "cli/options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <iostream>
#include <numeric>
#include <string_view>
#include <vector>

#include "cli/options/command_options.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

constexpr std::array<std::string_view, 19> kCommands{
    "run",    "get",     "put",    "edit",  "delete", "collections", "list",
    "export", "import",  "outbox", "work",  "status", "events",      "top",
    "renew",  "release", "purge",  "break", "doctor"};

/// An error in the command line: one line, which names the option.
struct UsageError {
  std::string text;
};

/// The number of edits that turn one word into the other: a changed letter, or two swapped ones.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> row(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) row[i][0] = i;
  std::iota(row[0].begin(), row[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = row[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[i][j] = std::min({row[i - 1][j] + 1, row[i][j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[i][j] = std::min(row[i][j], row[i - 2][j - 2] + 1);
    }
  }
  return row[a.size()][b.size()];
}

std::string AllCommands() {
  std::string all;
  for (const std::string_view name : kCommands)
    all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

[[noreturn]] void ThrowUnknown(std::string_view word) {
  const std::string text = Quoted(word) + " is not a command";
  for (const std::string_view name : kCommands) {
    if (word.size() < 40 && Distance(word, name) <= 2) {
      throw UsageError{text + "; did you mean '" + std::string(name) + "'?"};
    }
  }
  throw UsageError{text + "; the commands are " + AllCommands()};
}

/// The option's name, without a value.
std::string QuotedOption(std::string_view word) { return Quoted(word.substr(0, word.find('='))); }

bool TakesValue(std::string_view option) {
  return option == "--store" || option == "--store-file" || option == "-c" ||
         option == "--collection";
}

/// The option's name alone, as "-c" of "-cjobs" or "--json" of "--json=no".
std::string OptionName(std::string_view word) {
  return std::string(word.substr(0, word.starts_with("--") ? word.find('=') : 2));
}

/// The first word that is no option; empty: there is none.
/// @throws UsageError if an unknown option comes before it, because its value could be that word
std::string_view CommandOf(const CLI::App& app, char** begin, char** end) {
  for (char** word = begin; word < end; ++word) {
    const std::string_view text = *word;
    if (text.empty() || text[0] != '-') return text;
    if (app.get_option_no_throw(OptionName(text)) == nullptr) {
      throw UsageError{"there is no option " + QuotedOption(text) + " before the command"};
    }
    if (TakesValue(text)) ++word;
  }
  return {};
}

bool Has(char** begin, char** end, std::string_view word) {
  return std::find(begin, end, word) != end;
}

/// The command; empty: the line asks for help or the version. @throws UsageError
std::string_view CheckCommand(const CLI::App& app, char** begin, char** end) {
  const std::string_view command = CommandOf(app, begin, end);
  if (command.data() == nullptr) {
    if (Has(begin, end, "--help") || Has(begin, end, "-h") || Has(begin, end, "--version")) {
      return command;
    }
    if (begin != end) {
      const std::string_view option = *begin;
      throw UsageError{"there is no command after " + QuotedOption(option) + "; the commands are " +
                       AllCommands()};
    }
    throw UsageError{"there is no command; the commands are " + AllCommands()};
  }
  if (std::find(kCommands.begin(), kCommands.end(), command) == kCommands.end()) {
    ThrowUnknown(command);
  }
  return command;
}

bool HasOption(const CLI::App& sub, const std::string& name) {
  const CLI::Option* const option = sub.get_option_no_throw(name);
  return option != nullptr && !option->empty();
}

/// Refuses `--group=`, because the parser would take the next word as its value.
/// @throws UsageError
void CheckEmptyValues(char** begin, char** end) {
  for (char** word = begin; word < end; ++word) {
    const std::string_view text = *word;
    if (text.starts_with("--") && text.find('=') == text.size() - 1) {
      throw UsageError{QuotedOption(text) + ": must not be empty"};
    }
  }
}

constexpr const char* kDashesMissing =
    "run: write -- before the command, as in: doclock run NAME -- COMMAND";

bool TakesArguments(const CLI::App& sub) {
  return !sub.get_options([](const CLI::Option* option) { return option->get_positional(); })
              .empty();
}

bool HasExtras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining(true);
  return std::any_of(extras.begin(), extras.end(),
                     [](const std::string& word) { return word != "--"; });
}

/// The error text for words that do not belong on the line.
std::string ExtraText(const CLI::App& app, const std::vector<std::string>& words, bool has_dashes) {
  const std::vector<std::string> extras = app.remaining(true);
  const auto is_extra = [&](const std::string& word) {
    return word != "--" && std::find(extras.begin(), extras.end(), word) != extras.end();
  };
  const auto first = std::find_if(words.begin(), words.end(), is_extra);
  const std::string& word = first == words.end() ? extras.front() : *first;
  const auto dashes = std::find(words.begin(), first, "--");
  const CLI::App& sub = *app.get_subcommands().front();
  if (word.starts_with("-") && dashes == first) {
    return "there is no option " + QuotedOption(word) +
           (TakesArguments(sub) ? "; write -- before a name or key that begins with -" : "");
  }
  if (app.got_subcommand("run") && !has_dashes) return kDashesMissing;
  return "one argument too many: " + Quoted(word);
}

/// @throws UsageError
std::string CheckedGroup(const std::string& command, const std::string& group) {
  const std::string fault = TextFault(group, kMaxOwnerBytes);
  if (!fault.empty()) throw UsageError{command + ": GROUP " + fault};
  return group;
}

/// Checks what the parser does not: keys and conditions. @throws UsageError
void CheckValues(Arguments& arguments, const CLI::App& sub) {
  const std::string& command = arguments.command;
  const bool of_document =
      command == "get" || command == "put" || command == "edit" || command == "delete";
  LocksOptions& locks = arguments.locks;
  const bool of_group = (command == "renew" || command == "release") && locks.lock_file.empty();
  if (of_group) locks.group = CheckedGroup(command, locks.key.text);
  locks.has_key = command == "break" || !locks.lock_file.empty() ||
                  (command == "status" && !sub.get_option("NAME")->empty());
  OutboxOptions& outbox = arguments.outbox;
  outbox.has_key = command == "outbox" && !sub.get_option("KEY")->empty();
  if (outbox.has_key && !outbox.retry && !outbox.drop) {
    throw UsageError{"outbox: KEY needs --retry or --drop"};
  }
  WorkArguments& work = arguments.work;
  work.has_key = command == "work" && !sub.get_option("KEY")->empty();
  if (work.has_key && !work.retry && !work.drop) {
    throw UsageError{"work: KEY needs --retry or --drop"};
  }
  try {
    if (of_document) static_cast<void>(ParseKey(arguments.document.key));
    if (arguments.locks.has_key) static_cast<void>(ParseKey(arguments.locks.key));
    if (outbox.has_key) static_cast<void>(ParseKey(outbox.key));
    if (work.has_key) static_cast<void>(ParseKey(work.key));
    if (command == "work") static_cast<void>(Filter().Due(work.attempts));
    if (command == "list") static_cast<void>(FilterOf(arguments.list));
    if (command == "export") static_cast<void>(FilterOf(arguments.transfer));
  } catch (const std::invalid_argument& error) {
    throw UsageError{command + ": " + error.what()};
  }
  const bool to_terminal = command == "export" && arguments.transfer.file == "-";
  if (to_terminal && arguments.transfer.resume) {
    throw UsageError{"export: --resume needs a FILE"};
  }
}

/// @throws UsageError
void CheckRun(RunOptions& run, const CLI::App& sub, bool has_dashes) {
  if (sub.get_option("--kill-after")->empty()) run.kill_after.reset();
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const std::string& variable = run.fence_env;
  const bool is_name = std::all_of(variable.begin(), variable.end(), is_part) &&
                       (variable.empty() || variable[0] < '0' || variable[0] > '9');
  if (!is_name) {
    throw UsageError{"run: --fence-env must be the name of a variable: letters, digits and _"};
  }
  if (!has_dashes) throw UsageError{kDashesMissing};
  if (run.command.empty()) throw UsageError{"run: there is no command after --"};
  if (run.kill_after && run.kill_after->count() > run.ttl.count() / 2) {
    throw UsageError{"run: --kill-after must be at most half of --ttl"};
  }
}

using Words = std::vector<std::string>;

/// @throws CLI::ParseError
void ParseWords(CLI::App& app, const Words& words) {
  app.parse(Words(words.rbegin(), words.rend()));
}

/// `run NAME -- COMMAND`, or `run -- NAME -- COMMAND` for a name that begins with a hyphen.
/// @param words without those behind the first --, which are `behind`
/// @throws UsageError, CLI::ParseError
void ParseRun(CLI::App& app, RunOptions& run, Words words, Words behind, bool has_dashes) {
  try {
    ParseWords(app, words);
  } catch (const CLI::ExtrasError&) {
    throw UsageError{ExtraText(app, words, has_dashes)};
  } catch (const CLI::RequiredError&) {
    if (behind.empty()) throw;
    words.insert(words.end(), {"--", behind.front()});
    ParseWords(app, words);
    has_dashes = behind.size() > 1 && behind[1] == "--";
    behind.erase(behind.begin(), behind.begin() + (has_dashes ? 2 : 1));
  }
  run.command = std::move(behind);
  CheckRun(run, *app.get_subcommands().front(), has_dashes);
}

void Parse(CLI::App& app, Arguments& arguments, int argc, char** argv) {
  char** const begin = argv + 1;
  char** const end = argv + argc;
  char** const dashes =
      std::find_if(begin, end, [](const char* a) { return !std::strcmp(a, "--"); });
  const std::string_view command = CheckCommand(app, begin, dashes);
  CheckEmptyValues(begin, dashes);
  if (command == "run") {
    ParseRun(app, arguments.run, {begin, dashes}, {dashes + (dashes != end ? 1 : 0), end},
             dashes != end);
  } else {
    const Words words{begin, end};
    try {
      ParseWords(app, words);
    } catch (const CLI::ExtrasError&) {
      throw UsageError{ExtraText(app, words, false)};
    } catch (const CLI::RequiredError&) {
      // Perhaps it is there, and looks like an option.
      if (!HasExtras(app)) throw;
      throw UsageError{ExtraText(app, words, false)};
    }
  }
  const CLI::App& sub = *app.get_subcommands().front();
  arguments.command = sub.get_name();
  CheckValues(arguments, sub);
  arguments.document.has_version = HasOption(sub, "--if-version");
  LocksOptions& locks = arguments.locks;
  if (locks.expired || locks.live) locks.filter.expired = locks.expired;
}

}  // namespace

CommandLine ParseCommandLine(int argc, char** argv) {
  CLI::App app{"Named locks and locked documents, over a database you already have", "doclock"};
  app.set_version_flag("--version", DOCLOCK_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  CommandLine line;
  Arguments arguments;
  AddCommands(app, arguments);
  try {
    Parse(app, arguments, argc, argv);
    line.arguments = std::move(arguments);
  } catch (const UsageError& error) {
    Tell(error.text);
    line.exit_code = kUsage;
  } catch (const CLI::CallForVersion& version) {
    line.exit_code = kOk;
    if (Has(argv, argv + argc, "--json")) {
      arguments.command = "--version";
      line.arguments = std::move(arguments);
    } else {
      app.exit(version);
    }
  } catch (const CLI::Success& success) {
    line.exit_code = app.exit(success);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    const bool twice = what.find("At Most 1 required") != what.npos;
    Tell(twice ? what.substr(0, what.find(':')) + " may be given only once" : what);
    line.exit_code = kUsage;
  } catch (const CLI::ConversionError& error) {
    // Of a flag with a value, which the text repeats.
    const std::string what = error.what();
    const std::size_t name_end = what.find(" = ");
    Tell(name_end != what.npos ? what.substr(0, name_end) : "an option's value cannot be read");
    line.exit_code = kUsage;
  } catch (const CLI::ParseError& error) {
    Tell(error.what());
    line.exit_code = kUsage;
  }
  return line;
}

}  // namespace doclock::cli
