#include "cli/commands/locks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "cli/json/lock_fields_text.h"
#include "cli/json/lock_json.h"
#include "cli/options/durations.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

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

void PrintNames(const char* verb, const std::vector<LockStatus>& locks) {
  for (const LockStatus& lock : locks) {
    std::cout << verb << ' ' << Printable(lock.name) << '\n';
  }
}

/// What a verb of a group has done, and what failed.
int TellFailures(const GroupException& error, const char* verb, bool as_json) {
  if (as_json) {
    json failed = json::array();
    for (const auto& one : error.failed()) {
      failed.push_back(
          {{"lock", JsonOf(one.lock)}, {"error", make_error_code(one.code).message()}});
    }
    PrintJson({{verb, JsonOf(error.done())}, {"failed", failed}});
  } else {
    PrintNames(verb, error.done());
  }
  Tell(error.what());
  return kUnavailable;
}

void PrintDone(const char* verb, const std::vector<LockStatus>& locks, bool as_json) {
  if (as_json) {
    PrintJson({{verb, JsonOf(locks)}, {"failed", json::array()}});
  } else {
    PrintNames(verb, locks);
  }
}

LockAdmin AdminOf(const LockManager& manager, const LocksOptions& options) {
  return LockProvider(manager, options.collection).Admin();
}

/// The locks to show. A missing collection has none: one that nobody has locked in yet may be
/// missing.
std::vector<LockStatus> Found(const LockManager& manager, const LocksOptions& options) {
  LockFilter filter = options.filter;
  if (options.has_key) {
    filter.key = ParseKey(options.key);
    filter.closed = filter.closed || !filter.expired;
  }
  try {
    return AdminOf(manager, options).Status(filter);
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

}  // namespace

int Status(const LockManager& manager, const LocksOptions& options) {
  bool away = false;
  for (bool first = true;; first = false) {
    std::vector<LockStatus> found;
    try {
      found = Found(manager, options);
      away = false;
    } catch (const StoreException& error) {
      if (!options.watch || first || !error.transient()) throw;
      if (!std::exchange(away, true)) Tell(error);
      std::this_thread::sleep_for(options.interval.ms());
      continue;
    }
    if (options.watch && !options.json) StartAnew(first);
    const bool missing = options.has_key && !options.watch && found.empty();
    if (!missing || options.json) Print(found, options.json);
    if (missing) {
      Tell("'" + options.key.text + "' in the collection '" + options.collection +
           "' is not locked");
      return kNotFound;
    }
    if (!options.watch || !std::cout) return kOk;
    std::this_thread::sleep_for(options.interval.ms());
  }
}

int Renew(const LockManager& manager, const LocksOptions& options) {
  if (!options.lock_file.empty()) {
    const LockFields fields = ReadLockFields(options.lock_file);
    PrintDone("renewed",
              {AdminOf(manager, options).Renew(ParseKey(options.key), fields, options.ttl)},
              options.json);
    return kOk;
  }
  try {
    PrintDone("renewed", AdminOf(manager, options).RenewGroup(options.group, options.ttl),
              options.json);
    return kOk;
  } catch (const GroupException& error) {
    return TellFailures(error, "renewed", options.json);
  }
}

int Release(const LockManager& manager, const LocksOptions& options) {
  if (!options.lock_file.empty()) {
    const LockFields fields = ReadLockFields(options.lock_file);
    PrintDone("released", {AdminOf(manager, options).Release(ParseKey(options.key), fields)},
              options.json);
    return kOk;
  }
  try {
    const auto released = AdminOf(manager, options).ReleaseGroup(options.group);
    if (released.empty()) {
      Tell("the group '" + options.group + "' has no live lock in the collection '" +
           options.collection + "'");
      return kNotFound;
    }
    PrintDone("released", released, options.json);
    return kOk;
  } catch (const GroupException& error) {
    return TellFailures(error, "released", options.json);
  }
}

int Purge(const LockManager& manager, const LocksOptions& options) {
  PurgeResult result;
  try {
    result = AdminOf(manager, options).Purge(options.purge);
  } catch (const NotFoundException& missing) {
    Tell(missing);  // and so there is nothing to clear
  }
  if (options.json) {
    PrintJson({{"expired", result.expired}, {"forgotten", result.forgotten}});
  } else {
    std::cout << result.expired << " expired locks cleared, " << result.forgotten
              << " names forgotten\n";
  }
  return kOk;
}

int Break(const LockManager& manager, const LocksOptions& options) {
  const LockStatus was = AdminOf(manager, options).Break(ParseKey(options.key), options.by);
  if (options.json) {
    PrintJson({{"broken", JsonOf(was)}});
  } else {
    std::cout << "broken " << Printable(was.name) << ", held by "
              << Printable(was.holder.ToString()) << '\n';
  }
  return kOk;
}

}  // namespace doclock::cli
