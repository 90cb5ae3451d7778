#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <iostream>
#include <numeric>
#include <string_view>
#include <vector>

#include "cli/durations.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "document/values/utf8.h"

namespace doclock::cli {
namespace {

constexpr std::array<std::string_view, 9> kCommands{"run",   "get",     "put",   "edit", "status",
                                                    "renew", "release", "purge", "break"};

constexpr DurationRange kLease{kMinTtl, kMaxTtl};

/// An error in the command line: one line, which names the option.
struct UsageError {
  std::string text;
};

/// Adds an option (or, without hyphens, a positional argument) for a text.
CLI::Option* AddText(CLI::App* app, const std::string& name, std::string& where,
                     const std::string& help, std::size_t longest) {
  const auto check = [name, longest](std::string& text) -> std::string {
    if (text.empty()) return "must not be empty";
    if (text.size() > longest) return "must be at most " + std::to_string(longest) + " bytes long";
    return detail::IsUtf8(text) ? "" : "must be valid UTF-8";
  };
  return app->add_option(name, where, help)
      ->check(CLI::Validator(check, "", ""))
      ->type_name("TEXT");
}

/// Adds an option for a value that its own parser checks.
CLI::Option* AddAnything(CLI::App* app, const std::string& name, std::string& where,
                         const std::string& help, const std::string& type) {
  return AddText(app, name, where, help, SIZE_MAX)->type_name(type);
}

CLI::Option* AddDuration(CLI::App* app, const std::string& name, Duration& where,
                         const std::string& help, const DurationRange& range = {}) {
  const auto read = [&where, name, range](const std::string& text) {
    try {
      where = ParseDuration(text, range);
    } catch (const std::invalid_argument& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  return app->add_option_function<std::string>(name, read, help)->type_name("TIME");
}

CLI::Option* AddNumber(CLI::App* app, const std::string& name, int& where, const std::string& help,
                       int least, int most) {
  const auto check = [least, most](std::string& text) -> std::string {
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const bool good = error == std::errc() && stop == end && number >= least && number <= most;
    return good ? ""
                : "must be a number from " + std::to_string(least) + " to " + std::to_string(most);
  };
  return app->add_option(name, where, help)->check(CLI::Validator(check, "", ""))->type_name("N");
}

CLI::Option* AddCollection(CLI::App* app, const std::string& name, std::string& where,
                           const std::string& help) {
  const auto check = [](std::string& text) -> std::string {
    const auto good = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '.' || c == '-';
    };
    const bool is_name = !text.empty() && text.size() <= 64 && text[0] != '.' && text[0] != '-' &&
                         std::all_of(text.begin(), text.end(), good);
    return is_name
               ? ""
               : "must be 1 to 64 of the characters A-Z a-z 0-9 _ . - and not begin with . or -";
  };
  return app->add_option(name, where, help)
      ->check(CLI::Validator(check, "", ""))
      ->type_name("NAME");
}

void AddKeyType(CLI::App* app, KeyText& key) {
  const auto check = [](std::string& text) -> std::string {
    const bool good = text == "string" || text == "int" || text == "uuid" || text == "oid";
    return good ? "" : "must be string, int, uuid or oid";
  };
  app->add_option("--key-type", key.type,
                  "What the key is: string, int (as 42), uuid (as "
                  "6f1c36ce-06a8-4f3d-8b57-0b38dfc7a6ac) or oid (24 hexadecimal digits)")
      ->check(CLI::Validator(check, "", ""))
      ->type_name("TYPE")
      ->capture_default_str();
}

/// Options that every subcommand takes, before or after its name.
void AddCommon(CLI::App& app, Arguments& arguments) {
  CLI::Option* const url = AddAnything(
      &app, "--store", arguments.store.url,
      "URL of the store, as sqlite:PATH or mongodb://HOST/DATABASE (default: $DOCLOCK_STORE)",
      "URL");
  AddAnything(&app, "--store-file", arguments.store.file, "File whose first line is that URL",
              "FILE")
      ->excludes(url);
  AddCollection(&app, "-c,--collection", arguments.collection, "Where the named locks are kept")
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "Print JSON");
}

void AddRun(CLI::App& app, RunOptions& run) {
  CLI::App* const sub = app.add_subcommand(
      "run", "Hold a lock while a command runs:\nrun [OPTIONS] NAME -- COMMAND [ARGUMENTS]");
  sub->footer(
      "Exits with the command's exit code; or with 75 (or --busy-exit) if the lock is busy, 76 if\n"
      "the lock was lost, 69 if the store is unavailable, 64 for bad options, 126 or 127 if the\n"
      "command cannot be executed or does not exist, 128+N if signal N ended it.\n\n"
      "Example: doclock run --wait 5m nightly-backup -- rsync -a /data/ backup:/data/\n"
      "Example: doclock run --shared 4 --wait 1h render -- ./render frame-17");
  AddText(sub, "NAME", run.name, "The lock", kMaxKeyBytes)->required()->type_name("");
  AddDuration(sub, "--wait", run.wait,
              "How long to wait if the lock is busy (default: do not wait)");
  AddDuration(sub, "--ttl", run.ttl, "Length of the lease, which is renewed (default: 30s)",
              kLease);
  CLI::Option* const min_hold =
      AddDuration(sub, "--min-hold", run.min_hold,
                  "Keep others out for this long after the grant, even if the command ends sooner",
                  {Duration(), kMaxTtl});
  AddNumber(sub, "--shared", run.shared,
            "Share the lock among up to N holders at a time (default: hold it exclusively)", 1,
            kMaxHolders)
      ->excludes(min_hold);
  AddDuration(sub, "--kill-after", run.kill_after.emplace(),
              "Time between TERM and KILL if the lock cannot be renewed, at most half of --ttl "
              "(default: 5s, or ttl/4 if that is less; 0: KILL alone)");
  AddText(sub, "--owner", run.owner,
          "Name of the holder, for display only (default: the command's name)", kMaxOwnerBytes);
  AddText(sub, "--group", run.group, "Group that the lock belongs to", kMaxOwnerBytes);
  AddAnything(sub, "--fence-env", run.fence_env, "Variable to pass the fence to the command in",
              "VARIABLE");
  AddNumber(sub, "--busy-exit", run.busy_exit, "Exit code if the lock is busy", 0, 255)
      ->type_name("CODE")
      ->capture_default_str();
}

CLI::App* AddDocument(CLI::App& app, const char* name, const char* help, DocumentOptions& document,
                      bool writes) {
  CLI::App* const sub = app.add_subcommand(name, help);
  AddCollection(sub, "COLLECTION", document.collection, "Its collection")
      ->required()
      ->type_name("");
  sub->add_option("KEY", document.key.text, "Its key")->required()->type_name("");
  AddKeyType(sub, document.key);
  if (!writes) return sub;
  AddDuration(sub, "--wait", document.wait,
              "How long to wait if it is locked (default: do not wait)");
  AddDuration(sub, "--ttl", document.ttl, "Length of the lease, which is renewed (default: 30s)",
              kLease);
  return sub;
}

void AddDocuments(CLI::App& app, DocumentOptions& document) {
  AddDocument(app, "get", "Print a document", document, false)
      ->footer("Example: doclock get order_sagas 42");
  CLI::App* const put = AddDocument(
      app, "put", "Lock a document, replace it and unlock, in one write", document, true);
  AddAnything(put, "FILE", document.file, "JSON; - is standard input", "")->capture_default_str();
  put->footer("Example: echo '{\"step\":\"paid\"}' | doclock put order_sagas 42");
  CLI::App* const edit =
      AddDocument(app, "edit", "Lock a document while you edit it", document, true);
  AddAnything(edit, "--editor", document.editor, "Instead of $VISUAL, $EDITOR and vi", "COMMAND");
  edit->footer("Example: EDITOR=nano doclock edit --wait 10s order_sagas 42");
}

void AddStatus(CLI::App& app, LocksOptions& locks) {
  CLI::App* const sub = app.add_subcommand("status", "Show the locks and their holders");
  sub->footer(
      "Example: doclock status --watch --prefix reports/\n"
      "Example: doclock -c orders status --key-type int 42");
  sub->add_option("NAME", locks.key.text, "Only this lock")->type_name("");
  AddKeyType(sub, locks.key);
  AddText(sub, "--prefix", locks.filter.name_prefix, "Only names with this prefix", kMaxKeyBytes);
  AddText(sub, "--owner", locks.filter.owner, "Only locks of this owner", kMaxOwnerBytes);
  AddText(sub, "--group", locks.filter.group, "Only locks of this group", kMaxOwnerBytes);
  CLI::Option* const expired = sub->add_flag("--expired", locks.expired, "Only expired ones");
  sub->add_flag("--live", locks.live, "Only live ones")->excludes(expired);
  CLI::Option* const watch = sub->add_flag("--watch", locks.watch, "Repeat until interrupted");
  AddDuration(sub, "--interval", locks.interval, "With --watch: how often (default: 2s)",
              {std::chrono::milliseconds(100), std::chrono::hours(24)})
      ->needs(watch);
}

void AddGroups(CLI::App& app, LocksOptions& locks) {
  CLI::App* const renew = app.add_subcommand("renew", "Renew the leases of a group's locks");
  AddText(renew, "GROUP", locks.group, "The group", kMaxOwnerBytes)->required()->type_name("");
  AddDuration(renew, "--ttl", locks.ttl, "New length of the leases (default: unchanged)", kLease);
  renew->footer("Example: doclock renew --ttl 10m deployment-17");
  CLI::App* const release = app.add_subcommand("release", "Release a group's locks, newest first");
  AddText(release, "GROUP", locks.group, "The group", kMaxOwnerBytes)->required()->type_name("");
  release->footer("Example: doclock release deployment-17");
}

void AddTidying(CLI::App& app, LocksOptions& locks) {
  CLI::App* const purge = app.add_subcommand("purge", "Clear what expired locks left");
  CLI::Option* const forget =
      purge->add_flag("--forget", locks.purge.forget,
                      "Delete names long unused too; their fences begin at 1 again");
  CLI::Option* const idle =
      AddDuration(purge, "--idle-for", locks.purge.idle_for, "With --forget: unused for how long",
                  {std::chrono::milliseconds(1), kForever});
  forget->needs(idle);
  idle->needs(forget);
  purge->footer("Example: doclock purge --forget --idle-for 30d");
  CLI::App* const breaking = app.add_subcommand("break", "End another holder's lock");
  breaking->add_option("NAME", locks.key.text, "The lock, or the key of a document")
      ->required()
      ->type_name("");
  AddKeyType(breaking, locks.key);
  AddText(breaking, "--by", locks.by,
          "Name of the person or program that breaks the lock, for display only", kMaxOwnerBytes);
  breaking->footer(
      "Example: doclock break --by \"$USER\" nightly-backup\n"
      "Example: doclock -c orders break --key-type int 42");
}

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
  throw UsageError{text + "; there are " + AllCommands()};
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

/// @throws UsageError
void CheckCommand(const CLI::App& app, char** begin, char** end) {
  const std::string_view command = CommandOf(app, begin, end);
  if (command.data() == nullptr) {
    if (Has(begin, end, "--help") || Has(begin, end, "-h") || Has(begin, end, "--version")) return;
    if (begin != end) {
      const std::string_view option = *begin;
      throw UsageError{"a command is missing beside " + QuotedOption(option)};
    }
    throw UsageError{"a command is missing; there are " + AllCommands()};
  }
  if (std::find(kCommands.begin(), kCommands.end(), command) == kCommands.end()) {
    ThrowUnknown(command);
  }
}

/// Refuses `--group=`, because the parser would take the next word as its value.
/// @throws UsageError
void CheckValues(char** begin, char** end) {
  for (char** word = begin; word < end; ++word) {
    const std::string_view text = *word;
    if (text.starts_with("--") && text.find('=') == text.size() - 1) {
      throw UsageError{QuotedOption(text) + ": must not be empty"};
    }
  }
}

constexpr const char* kDashesMissing =
    "run: write -- before the command, as in: doclock run NAME -- COMMAND";

/// The error text for words that do not belong on the line.
std::string ExtraText(const CLI::App& app, char** begin, char** end, bool has_dashes) {
  const std::vector<std::string> extras = app.remaining(true);
  const auto is_extra = [&](std::string_view word) {
    return std::find(extras.begin(), extras.end(), word) != extras.end();
  };
  char** const first = std::find_if(begin, end, is_extra);
  const std::string_view word = first == end ? extras.front() : std::string_view(*first);
  if (word.starts_with("-")) {
    return "there is no option " + QuotedOption(word);
  }
  if (app.got_subcommand("run") && !has_dashes) return kDashesMissing;
  return "one argument too many: " + Quoted(word);
}

/// @throws UsageError
void CheckKeys(Arguments& arguments, const CLI::App& sub) {
  const std::string& command = arguments.command;
  const bool of_document = command == "get" || command == "put" || command == "edit";
  arguments.locks.has_key =
      command == "break" || (command == "status" && !sub.get_option("NAME")->empty());
  try {
    if (of_document) static_cast<void>(ParseKey(arguments.document.key));
    if (arguments.locks.has_key) static_cast<void>(ParseKey(arguments.locks.key));
  } catch (const std::invalid_argument& error) {
    throw UsageError{command + ": " + error.what()};
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

void Parse(CLI::App& app, Arguments& arguments, int argc, char** argv) {
  // What follows -- is the command's, whatever it looks like.
  char** const end = argv + argc;
  char** const dashes =
      std::find_if(argv, end, [](const char* a) { return !std::strcmp(a, "--"); });
  CheckCommand(app, argv + 1, dashes);
  CheckValues(argv + 1, dashes);
  if (dashes != end) arguments.run.command.assign(dashes + 1, end);
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::ExtrasError&) {
    throw UsageError{ExtraText(app, argv + 1, dashes, dashes != end)};
  }
  const CLI::App& sub = *app.get_subcommands().front();
  arguments.command = sub.get_name();
  if (arguments.command != "run" && dashes != end) {
    throw UsageError{arguments.command + ": -- is for run only"};
  }
  if (arguments.command == "run") CheckRun(arguments.run, sub, dashes != end);
  CheckKeys(arguments, sub);
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
  AddCommon(app, arguments);
  AddRun(app, arguments.run);
  AddDocuments(app, arguments.document);
  AddStatus(app, arguments.locks);
  AddGroups(app, arguments.locks);
  AddTidying(app, arguments.locks);
  try {
    Parse(app, arguments, argc, argv);
    line.arguments = std::move(arguments);
  } catch (const UsageError& error) {
    Tell(error.text);
    line.exit_code = kUsage;
  } catch (const CLI::Success& success) {
    line.exit_code = app.exit(success);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    const bool twice = what.find("At Most 1 required") != what.npos;
    Tell(twice ? what.substr(0, what.find(':')) + " may be given once only" : what);
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
