#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/json/json_text.h"
#include "cli/json/lock_json.h"
#include "cli/options/durations.h"
#include "cli/options/keys.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

struct StatusOptions {
  std::optional<std::string> name;
  std::string key_type = KeyText{}.type;
  LockFilter filter;
  bool expired = false;  ///< Only those.
  bool live = false;     ///< Only those.
  bool watch = false;
  Duration interval = std::chrono::seconds(2);
};

using Row = std::array<std::string, 7>;

Row RowOf(const LockStatus& lock) {
  std::string state = DurationText(lock.remaining);
  if (lock.unheld) state = "closed";
  if (lock.expired) state = "expired";
  if (lock.malformed) state = "malformed";
  return {Printable(lock.name),
          lock.unheld ? "-" : Printable(lock.holder.ToString()),
          Printable(lock.group),
          lock.unheld ? "-" : ModeOf(lock),
          state + (lock.closed && !lock.unheld ? "*" : ""),
          lock.unheld ? "-" : DurationText(lock.age),
          lock.unheld  ? "-"
          : lock.fence ? std::to_string(*lock.fence)
                       : "?"};
}

/// Each process has one waiter in the queue of a lock. Shares of a lock have it in common.
void PrintWaiters(const std::vector<LockStatus>& locks) {
  const Key* last = nullptr;
  for (const LockStatus& lock : locks) {
    if (lock.waiting == 0 || (last != nullptr && *last == lock.key)) continue;
    last = &lock.key;
    std::cout << Printable(lock.name) << ": processes that wait: " << lock.waiting
              << ", the next: " << Printable(lock.next.ToString()) << '\n';
  }
}

void PrintTable(const std::vector<LockStatus>& locks) {
  std::vector<Row> rows{{"NAME", "HOLDER", "GROUP", "MODE", "REMAINING", "AGE", "FENCE"}};
  for (const LockStatus& lock : locks) rows.push_back(RowOf(lock));
  std::array<std::size_t, 7> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(row[i]));
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - WidthOf(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << '\n';
  }
  const auto is_closed = [](const LockStatus& lock) { return lock.closed && !lock.unheld; };
  if (std::any_of(locks.begin(), locks.end(), is_closed)) {
    std::cout << "* min_hold keeps other clients out, even after a release\n";
  }
  PrintWaiters(locks);
  std::cout << std::flush;
}

void Print(const std::vector<LockStatus>& locks, bool as_json) {
  if (as_json) {
    PrintJson(JsonOf(locks));
  } else {
    PrintTable(locks);
  }
}

/// The filter that the options ask for.
LockFilter FilterOf(const StatusOptions& options) {
  LockFilter filter = options.filter;
  if (options.expired || options.live) filter.expired = options.expired;
  if (options.name) {
    filter.key = ParseKey({*options.name, options.key_type});
    filter.closed = filter.closed || !filter.expired;
  }
  return filter;
}

/// Returns the locks to show. A missing collection has none: it is made by its first lock.
std::vector<LockStatus> Found(const LockManager& manager, const std::string& collection,
                              const LockFilter& filter) {
  try {
    return LockProvider(manager, collection).Admin().Status(filter);
  } catch (const NotFoundException& missing) {
    Tell(missing);
    return {};
  }
}

/// Prepares the output for the next table.
void StartAnew(bool first) {
  if (::isatty(STDOUT_FILENO) == 1) {
    std::cout << "\x1b[H\x1b[2J";
  } else if (!first) {
    std::cout << '\n';
  }
}

int Status(const Context& context, const StatusOptions& options) {
  const LockFilter filter = FilterOf(options);
  const LockManager manager = context.manager();
  bool away = false;
  for (bool first = true;; first = false) {
    std::vector<LockStatus> found;
    try {
      found = Found(manager, context.collection, filter);
      away = false;
    } catch (const StoreException& error) {
      if (!options.watch || first || !error.transient()) throw;
      if (!std::exchange(away, true)) Tell(error);
      std::this_thread::sleep_for(options.interval.ms());
      continue;
    }
    if (options.watch && !context.json) StartAnew(first);
    const bool missing = options.name && !options.watch && found.empty();
    if (!missing || context.json) Print(found, context.json);
    if (missing) {
      Tell("'" + *options.name + "' in the collection '" + context.collection + "' is not locked");
      return kNotFound;
    }
    if (!options.watch || !std::cout) return kOk;
    std::this_thread::sleep_for(options.interval.ms());
  }
}

}  // namespace

Action AddStatus(CLI::App& sub) {
  const auto options = std::make_shared<StatusOptions>();
  LockFilter& filter = options->filter;
  sub.add_option("NAME", options->name, "Only this lock")->type_name("");
  AddKeyType(sub, options->key_type);
  AddText(sub, "--prefix", filter.name_prefix, "Only names with this prefix", kMaxKeyBytes);
  AddText(sub, "--owner", filter.owner, "Only locks of this owner", kMaxOwnerBytes);
  AddText(sub, "--group", filter.group, "Only locks of this group", kMaxOwnerBytes);
  CLI::Option* const expired = sub.add_flag("--expired", options->expired, "Only expired locks");
  sub.add_flag("--live", options->live, "Only live locks")->excludes(expired);
  sub.add_flag(
      "--closed", filter.closed,
      "Also show locks that have no holder but that min_hold keeps closed; reads every name");
  CLI::Option* const watch = sub.add_flag("--watch", options->watch, "Repeat until interrupted");
  AddDuration(sub, "--interval", options->interval, "With --watch: how often (default: 2s)",
              kIntervals)
      ->needs(watch);
  sub.footer("Example: doclock status --watch --prefix reports/");
  return [options](const Context& context) { return Status(context, *options); };
}

}  // namespace doclock::cli
