#include "cli/locks.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "cli/durations.h"
#include "cli/exit_codes.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

const char* ModeOf(const LockStatus& lock) {
  return lock.mode == LockMode::kShared ? "shared" : "exclusive";
}

json JsonOf(const LockStatus& lock) {
  const auto granted =
      std::chrono::duration_cast<std::chrono::milliseconds>(lock.granted.time_since_epoch());
  return {{"name", lock.name},
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
          {"granted", granted.count()}};
}

json JsonOf(const std::vector<LockStatus>& locks) {
  json all = json::array();
  for (const LockStatus& lock : locks) all.push_back(JsonOf(lock));
  return all;
}

using Row = std::array<std::string, 7>;

Row RowOf(const LockStatus& lock) {
  std::string state = DurationText(lock.remaining);
  if (lock.expired) state = "expired";
  if (lock.malformed) state = "malformed";
  return {lock.name,
          lock.holder.ToString(),
          lock.group,
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
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << '\n';
  }
  std::cout << std::flush;
}

void Print(const std::vector<LockStatus>& locks, bool as_json) {
  if (as_json) {
    std::cout << JsonOf(locks).dump() << std::endl;
  } else {
    PrintTable(locks);
  }
}

void PrintNames(const char* verb, const std::vector<LockStatus>& locks) {
  for (const LockStatus& lock : locks) std::cout << verb << ' ' << lock.name << '\n';
}

/// What a group's verb has done, and what failed.
int TellFailures(const GroupException& error, const char* verb, bool as_json) {
  if (as_json) {
    json failed = json::array();
    for (const auto& one : error.failed()) {
      failed.push_back(
          {{"lock", JsonOf(one.lock)}, {"error", make_error_code(one.code).message()}});
    }
    std::cout << json{{verb, JsonOf(error.done())}, {"failed", failed}}.dump() << '\n';
  } else {
    PrintNames(verb, error.done());
  }
  std::cerr << error.what() << '\n';
  return kStoreAway;
}

}  // namespace

int Status(const LockManager& manager, const LocksOptions& options) {
  const LockProvider locks(manager, options.collection);
  for (;;) {
    const auto found = locks.Status(options.filter);
    if (options.watch && !options.json) std::cout << "\x1b[H\x1b[2J";
    Print(found, options.json);
    if (!options.watch || !std::cout) return kOk;
    std::this_thread::sleep_for(options.interval.ms());
  }
}

int Renew(const LockManager& manager, const LocksOptions& options) {
  const LockProvider locks(manager, options.collection);
  try {
    const auto renewed = locks.RenewGroup(options.group, options.ttl);
    if (options.json) {
      std::cout << json{{"renewed", JsonOf(renewed)}, {"failed", json::array()}}.dump() << '\n';
    } else {
      PrintNames("renewed", renewed);
    }
    return kOk;
  } catch (const GroupException& error) {
    return TellFailures(error, "renewed", options.json);
  }
}

int Release(const LockManager& manager, const LocksOptions& options) {
  const LockProvider locks(manager, options.collection);
  try {
    const auto released = locks.ReleaseGroup(options.group);
    if (options.json) {
      std::cout << json{{"released", JsonOf(released)}, {"failed", json::array()}}.dump() << '\n';
    } else {
      PrintNames("released", released);
    }
    return kOk;
  } catch (const GroupException& error) {
    return TellFailures(error, "released", options.json);
  }
}

int Purge(const LockManager& manager, const LocksOptions& options) {
  const PurgeResult result = LockProvider(manager, options.collection).Purge(options.purge);
  if (options.json) {
    std::cout << json{{"expired", result.expired}, {"forgotten", result.forgotten}}.dump() << '\n';
  } else {
    std::cout << result.expired << " expired locks cleared, " << result.forgotten
              << " names forgotten\n";
  }
  return kOk;
}

int Break(const LockManager& manager, const LocksOptions& options) {
  const LockStatus was = LockProvider(manager, options.collection).Break(options.name, options.by);
  if (options.json) {
    std::cout << json{{"broken", JsonOf(was)}}.dump() << '\n';
  } else {
    std::cout << "broken " << was.name << ", held by " << was.holder.ToString() << '\n';
  }
  return kOk;
}

}  // namespace doclock::cli
