#include "cli/complete.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "cli/command_line.h"
#include "cli/json/document_line.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "cli/store/driver.h"
#include "cli/store/search.h"

namespace doclock::cli {
namespace {

constexpr std::chrono::seconds kPatience{2};

/// One completion.
class Completion {
 public:
  Completion(std::string current, std::string from_environment)
      : current_(std::move(current)), from_environment_(std::move(from_environment)) {
    AddCommands(app_, arguments_);
  }
  /// Takes the next word before the one to complete. Returns true if a command of `run` begins
  /// behind it, false if not.
  [[nodiscard]] bool Take(const std::string& word) {
    if (option_ != nullptr) {
      option_->add_result(word);
      option_->run_callback();
      option_ = nullptr;
    } else if (word == "--") {
      has_dashes_ = true;
      return command_ != nullptr && command_->get_name() == "run";
    } else if (word.starts_with("-") && !has_dashes_) {
      if (command_ != nullptr) option_ = command_->get_option_no_throw(word);
      if (option_ == nullptr) option_ = app_.get_option_no_throw(word);
      if (option_ != nullptr && option_->get_items_expected_max() == 0) option_ = nullptr;
    } else if (command_ == nullptr) {
      command_ = app_.get_subcommand(word);
    } else {
      given_.push_back(word);
    }
    return false;
  }
  void Offer() const {
    if (option_ != nullptr) return OfferOf(option_->get_type_name());
    if (current_.starts_with("-") && !has_dashes_) {
      for (const CLI::App* app : {static_cast<const CLI::App*>(command_), &app_}) {
        if (app == nullptr) continue;
        for (const CLI::Option* option : app->get_options()) {
          for (const auto& name : option->get_lnames())
            Print("--" + name, option->get_description());
        }
      }
    } else if (command_ == nullptr) {
      for (const Command& command : kCommands) Print(command.name, command.help);
    } else {
      const auto arguments =
          command_->get_options([](const CLI::Option* one) { return one->get_positional(); });
      if (given_.size() < arguments.size()) OfferOf(arguments[given_.size()]->get_name());
    }
  }

 private:
  /// Prints a word if it goes on what is there.
  void Print(const std::string& word, const std::string& help = "") const {
    if (!word.starts_with(current_)) return;
    std::cout << word << (help.empty() ? "" : "\t") << help.substr(0, help.find('\n')) << '\n';
  }
  /// @param what the type of an option's value, or the name of an argument
  void OfferOf(std::string what) const {
    if (what == "FILE" || what == "COMMAND") {
      std::cout << (what == "FILE" ? ":file\n" : ":command\n");
    } else if (what == "COLLECTION") {
      for (const std::string& name : Open().store()->ListCollections(kPatience)) Print(name);
    } else if (what == "KEY" || what == "NAME") {
      SearchOptions search;
      search.collection = what == "NAME" ? arguments_.collection : given_.at(0);
      search.limit = 1000;
      const auto print = [&](const Key& key) {
        Print(Printable(TextOf(key).text));
        return true;
      };
      ForEachDocument(
          Open(), search, [&](const DocumentLine& document) { return print(document.key); },
          [&](const DocumentException& error) { return print(error.document()->key); });
    } else if (what.find('|') != what.npos) {  // all values
      for (std::istringstream values(what); std::getline(values, what, '|');) Print(what);
    }
  }
  [[nodiscard]] LockManager Open() const {
    const StoreUrl chosen = UrlOf(arguments_.store, from_environment_);
    PrepareDriver(chosen.url);
    return LockManager(OpenChosen(chosen, OpenMode::kExisting, kPatience));
  }

  const std::string current_, from_environment_;
  CLI::App app_;
  Arguments arguments_;
  CLI::App* command_ = nullptr;
  CLI::Option* option_ = nullptr;   ///< Its value comes next.
  std::vector<std::string> given_;  ///< The arguments of the command.
  bool has_dashes_ = false;
};

}  // namespace

int Complete(const std::vector<std::string>& words, const std::string& from_environment) {
  try {
    Completion completion(words.back(), from_environment);
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      if (!completion.Take(words[i])) continue;
      std::cout << ":command " << i + 1 << '\n';
      return kOk;
    }
    completion.Offer();
  } catch (const std::exception&) {  // the line is not right, or the store does not answer
  }
  return kOk;
}

}  // namespace doclock::cli
