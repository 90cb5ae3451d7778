#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <string_view>

#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kDashesMissing =
    "run: write -- before the command, as in: doclock run NAME -- COMMAND";

std::string AllCommands() {
  std::string all;
  for (const Command& command : kCommands)
    all += (all.empty() ? "" : ", ") + std::string(command.name);
  return all;
}

/// The option's name, without a value.
std::string QuotedOption(std::string_view word) { return Quoted(word.substr(0, word.find('='))); }

/// Is `run` the first word that is neither an option nor the value of one?
bool IsRun(const CLI::App& app, const Words& words) {
  for (auto word = words.begin(); word < words.end(); ++word) {
    if (!word->starts_with("-")) return *word == "run";
    const CLI::Option* const option = app.get_option_no_throw(*word);
    if (option != nullptr && option->get_items_expected_max() > 0) ++word;
  }
  return false;
}

/// The words that do not belong on the line.
Words ExtrasOf(const CLI::App& app) {
  Words extras = app.remaining(true);
  std::erase(extras, "--");
  return extras;
}

/// The error text for words that do not belong on the line. They may be or hold a password.
std::string ExtraText(const CLI::App& app, const Words& words) {
  const Words extras = ExtrasOf(app);
  // The first on the line: the parser lists them in another order.
  const auto first = std::find_first_of(words.begin(), words.end(), extras.begin(), extras.end());
  const std::string& word = first == words.end() ? extras.front() : *first;
  const auto subs = app.get_subcommands();
  if (word.starts_with("-") && std::find(words.begin(), first, "--") == first) {
    return "there is no option " + QuotedOption(word) +
           "; write -- before a name or key that begins with -";
  }
  if (subs.empty()) {
    return Quoted(word) + " is not a command; the commands are " + AllCommands();
  }
  return "one argument too many: " + Quoted(word) +
         (subs.front()->get_name() == "run" ? std::string("; ") + kDashesMissing : "");
}

/// @throws std::invalid_argument, CLI::ParseError
void ParseWords(CLI::App& app, const Words& words) {
  try {
    app.parse(Words(words.rbegin(), words.rend()));
  } catch (const CLI::ExtrasError&) {
    throw std::invalid_argument(ExtraText(app, words));
  } catch (const CLI::RequiredError&) {
    // Perhaps it is there, and looks like an option.
    if (!ExtrasOf(app).empty()) throw std::invalid_argument(ExtraText(app, words));
    if (app.get_subcommands().empty()) {
      throw std::invalid_argument("there is no command; the commands are " + AllCommands());
    }
    throw;
  }
}

/// `run NAME -- COMMAND`, or `run -- NAME -- COMMAND` for a name that begins with a hyphen. Returns
/// the words of the command.
/// @param words up to the first --, which are followed by `behind`
/// @throws std::invalid_argument, CLI::ParseError
Words ParseRun(CLI::App& app, Words words, Words behind) {
  try {
    ParseWords(app, words);
  } catch (const CLI::RequiredError&) {
    if (behind.size() < 2) throw;
    words.insert(words.end(), {"--", behind[1]});
    ParseWords(app, words);
    behind.erase(behind.begin(), behind.begin() + 2);
  }
  if (behind.empty() || behind.front() != "--") throw std::invalid_argument(kDashesMissing);
  behind.erase(behind.begin());
  return behind;
}

void Parse(CLI::App& app, Arguments& arguments, const Words& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const Words before(words.begin(), dashes);
  for (const std::string& word : before) {
    // The parser would take the next word as the value of `--group=`.
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      throw std::invalid_argument(QuotedOption(word) + ": must not be empty");
    }
  }
  if (IsRun(app, before)) {
    arguments.behind = ParseRun(app, before, {dashes, words.end()});
  } else {
    ParseWords(app, words);
  }
}

/// The text of what the parser found, without a value, which might be a password.
std::string TextOf(const CLI::ParseError& error) {
  const std::string what = error.what();
  if (what.find("At Most 1 required") != what.npos) {
    return what.substr(0, what.find(':')) + " may be given only once";
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) == nullptr) return what;
  // The text repeats the value that a flag was given.
  const std::size_t name_end = what.find(" = ");
  return name_end != what.npos ? what.substr(0, name_end) : "an option's value cannot be read";
}

}  // namespace

void AddCommands(CLI::App& app, Arguments& arguments) {
  CLI::Option* const url = AddAnything(
      app, "--store", arguments.store.url,
      "URL of the store, as sqlite:PATH, mongodb://HOST/DATABASE or postgresql://HOST/DATABASE"
      " (default: $DOCLOCK_STORE)",
      "URL");
  AddAnything(app, "--store-file", arguments.store.file, "File whose first line is that URL",
              "FILE")
      ->excludes(url);
  AddCollection(app, "-c,--collection", arguments.collection, "Collection of the locks")
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "Print JSON");
  for (const Command& command : kCommands) {
    CLI::App* const sub = app.add_subcommand(command.name, command.help);
    sub->callback([&arguments, &command, action = command.add(*sub)] {
      arguments.command = &command;
      arguments.action = action;
    });
  }
}

CommandLine ParseCommandLine(int argc, char** argv) {
  CLI::App app{"Named locks and locked documents, over a database you already have", "doclock"};
  app.set_version_flag("--version", DOCLOCK_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  Arguments arguments;
  AddCommands(app, arguments);
  const Words words(argv + 1, argv + argc);
  try {
    Parse(app, arguments, words);
    return {std::move(arguments)};
  } catch (const std::invalid_argument& error) {
    Tell(error.what());
  } catch (const CLI::CallForVersion& version) {
    if (std::find(words.begin(), words.end(), "--json") != words.end()) return {Arguments()};
    return {{}, app.exit(version)};
  } catch (const CLI::Success& success) {
    return {{}, app.exit(success)};
  } catch (const CLI::ParseError& error) {
    Tell(TextOf(error));
  }
  return {{}, kUsage};
}

}  // namespace doclock::cli
