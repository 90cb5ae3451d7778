#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <iterator>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/json/json_text.h"
#include "cli/options/durations.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "doclock/lock_provider.h"

namespace doclock::cli {
namespace {

using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kAnswerTime{10};
/// A slower answer makes short leases risky.
constexpr milliseconds kSlow{500};

constexpr std::array kLevels{"ok", "warning", "problem"};

milliseconds Since(SteadyClock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(SteadyClock::now() - begin);
}

/// A finding whose advice counts only if `level` is not kOk.
Finding Judged(const char* check, std::string text, FindingLevel level, std::string advice) {
  if (level == FindingLevel::kOk) advice.clear();
  return {check, level, std::move(text), std::move(advice)};
}

/// One examination. What was found stays when a later step fails.
class Doctoring {
 public:
  explicit Doctoring(const Context& context) : context_(context), collection_(context.collection) {}

  void Examine() {
    const LockManager manager = Open();
    Store& store = *manager.store();
    const auto begin = SteadyClock::now();
    const std::vector<std::string> names = store.ListCollections(kAnswerTime);
    const milliseconds took = Since(begin);
    findings.push_back(Judged("answer", "the store answered in " + DurationText(took),
                              took > kSlow ? FindingLevel::kWarning : FindingLevel::kOk,
                              "find out why it is slow, or use a longer --ttl"));
    const bool there = std::find(names.begin(), names.end(), collection_) != names.end();
    if (!there) {
      // A name that was given may be mistyped.
      findings.push_back(Judged("collection", "there is no collection " + collection_ + " yet",
                                IsDefault() ? FindingLevel::kOk : FindingLevel::kWarning,
                                "check its name: doclock collections shows those that are there"));
    }
    if (there && OpenCollection(manager)) CheckLocks(manager);
    Collection missing(collection_, {}, kAnswerTime);
    auto more = store.Examine(there ? store.Find(collection_).get() : &missing, kAnswerTime);
    std::move(more.begin(), more.end(), std::back_inserter(findings));
  }

  std::vector<Finding> findings;

 private:
  LockManager Open() {
    const auto begin = SteadyClock::now();
    try {
      LockManager manager = context_.manager();
      findings.push_back(
          {"open", FindingLevel::kOk, "the store was opened in " + DurationText(Since(begin))});
      return manager;
    } catch (const Error& error) {
      findings.push_back({"open", FindingLevel::kProblem, error.what(),
                          "nothing else can be examined until the store can be opened"});
      throw;
    }
  }
  /// False: it cannot be opened as it is.
  bool OpenCollection(const LockManager& manager) {
    try {
      const LockProvider locks(manager, collection_);
      findings.push_back(
          {"collection", FindingLevel::kOk, "the collection " + collection_ + " is there"});
      return true;
    } catch (const StoreException& error) {
      if (error.errc() != Errc::kRefused) throw;
      findings.push_back(
          {"collection", FindingLevel::kProblem, error.what(), "its locks were not examined"});
      return false;
    }
  }
  void CheckLocks(const LockManager& manager) {
    std::size_t live = 0, expired = 0, malformed = 0;
    for (const LockStatus& lock : LockProvider(manager, collection_).Admin().Status()) {
      ++(lock.malformed ? malformed : lock.expired ? expired : live);
    }
    findings.push_back({"locks", FindingLevel::kOk, std::to_string(live) + " locks are held"});
    findings.push_back(Judged("leftovers", std::to_string(expired) + " locks are expired",
                              expired > 0 ? FindingLevel::kWarning : FindingLevel::kOk,
                              "clear what they left: " + CommandFor("purge")));
    findings.push_back(Judged("malformed", std::to_string(malformed) + " locks are malformed",
                              malformed > 0 ? FindingLevel::kProblem : FindingLevel::kOk,
                              "another program wrote their fields; mend them by hand (" +
                                  CommandFor("status") + " shows them)"));
  }

  [[nodiscard]] bool IsDefault() const { return collection_ == kDefaultLockCollection; }
  /// A command for this collection, as it is typed.
  [[nodiscard]] std::string CommandFor(const std::string& verb) const {
    return "doclock " + verb + (IsDefault() ? "" : " -c " + ShellWord(collection_));
  }

  const Context& context_;
  const std::string& collection_;
};

void PrintFindings(const std::vector<Finding>& findings) {
  for (const Finding& one : findings) {
    const std::string level = kLevels.at(static_cast<std::size_t>(one.level));
    std::cout << level << std::string(9 - level.size(), ' ') << one.check << ": "
              << Printable(one.text) << '\n';
    if (!one.advice.empty()) std::cout << "         " << Printable(one.advice) << '\n';
  }
}

void PrintAsJson(const std::vector<Finding>& findings) {
  json all = json::array();
  for (const Finding& one : findings) {
    all.push_back({{"check", one.check},
                   {"level", kLevels.at(static_cast<std::size_t>(one.level))},
                   {"text", one.text},
                   {"advice", one.advice}});
  }
  PrintJson(all);
}

int Doctor(const Context& context) {
  const auto print = context.json ? &PrintAsJson : &PrintFindings;
  Doctoring doctoring(context);
  try {
    doctoring.Examine();
  } catch (const Error&) {
    print(doctoring.findings);
    throw;
  }
  print(doctoring.findings);
  const bool well = std::all_of(doctoring.findings.begin(), doctoring.findings.end(),
                                [](const Finding& one) { return one.level == FindingLevel::kOk; });
  return well ? kOk : kMendable;
}

}  // namespace

Action AddDoctor(CLI::App& sub) {
  sub.footer(
      "Exits with 0 if all is well, 78 if there is something to mend, 69 if the store is down.\n\n"
      "Example: doclock doctor -c orders");
  return Doctor;
}

}  // namespace doclock::cli
