#include "cli/locks.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "cli/durations.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

const char* ModeOf(const LockStatus& lock) {
  return lock.mode == LockMode::kShared ? "shared" : "exclusive";
}

const char* KeyTypeOf(const LockStatus& lock) {
  static constexpr std::array kTypes{"string", "int", "uuid", "oid"};
  return kTypes.at(lock.key.value().index());
}

/// All times in milliseconds; `grantedMs` since 1970.
json JsonOf(const LockStatus& lock) {
  const auto granted =
      std::chrono::duration_cast<std::chrono::milliseconds>(lock.granted.time_since_epoch());
  return {{"name", lock.name},
          {"keyType", KeyTypeOf(lock)},
          {"owner", lock.holder.name},
          {"host", lock.holder.host},
          {"pid", lock.holder.pid},
          {"group", lock.group},
          {"mode", ModeOf(lock)},
          {"fence", lock.fence ? json(*lock.fence) : json()},
          {"version", lock.version},
          {"expired", lock.expired},
          {"malformed", lock.malformed},
          {"ttlMs", lock.ttl.count()},
          {"remainingMs", lock.remaining.count()},
          {"ageMs", lock.age.count()},
          {"grantedMs", granted.count()}};
}

json JsonOf(const std::vector<LockStatus>& locks) {
  json all = json::array();
  for (const LockStatus& lock : locks) all.push_back(JsonOf(lock));
  return all;
}

void PrintJson(const json& what) {
  // Other programs choose their owners, which may not be UTF-8.
  std::cout << what.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
}

using Row = std::array<std::string, 7>;

Row RowOf(const LockStatus& lock) {
  std::string state = DurationText(lock.remaining);
  if (lock.expired) state = "expired";
  if (lock.malformed) state = "malformed";
  return {Printable(lock.name),
          Printable(lock.holder.ToString()),
          Printable(lock.group),
          ModeOf(lock),
          state,
          DurationText(lock.age),
          lock.fence ? std::to_string(*lock.fence) : "?"};
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

/// The locks to show. A missing collection has none; on MongoDB it is not an error either.
std::vector<LockStatus> Found(const LockManager& manager, const LocksOptions& options) {
  LockFilter filter = options.filter;
  if (options.has_key) filter.key = ParseKey(options.key);
  try {
    return LockProvider(manager, options.collection).Status(filter);
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
  for (bool first = true;; first = false) {
    const auto found = Found(manager, options);
    if (options.watch && !options.json) StartAnew(first);
    const bool missing = options.has_key && !options.watch && found.empty();
    if (!missing || options.json) Print(found, options.json);
    if (missing) {
      Tell("'" + options.key.text + "' of '" + options.collection + "' is not locked");
      return kNotFound;
    }
    if (!options.watch || !std::cout) return kOk;
    std::this_thread::sleep_for(options.interval.ms());
  }
}

int Renew(const LockManager& manager, const LocksOptions& options) {
  const LockProvider locks(manager, options.collection);
  try {
    PrintDone("renewed", locks.RenewGroup(options.group, options.ttl), options.json);
    return kOk;
  } catch (const GroupException& error) {
    return TellFailures(error, "renewed", options.json);
  }
}

int Release(const LockManager& manager, const LocksOptions& options) {
  const LockProvider locks(manager, options.collection);
  try {
    const auto released = locks.ReleaseGroup(options.group);
    if (released.empty()) {
      Tell("the group '" + options.group + "' has no live lock in '" + options.collection + "'");
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
    result = LockProvider(manager, options.collection).Purge(options.purge);
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
  const LockingRepository<json> documents(manager, options.collection);
  const LockStatus was = documents.Break(ParseKey(options.key), options.by);
  if (options.json) {
    PrintJson({{"broken", JsonOf(was)}});
  } else {
    std::cout << "broken " << Printable(was.name) << ", held by "
              << Printable(was.holder.ToString()) << '\n';
  }
  return kOk;
}

}  // namespace doclock::cli
