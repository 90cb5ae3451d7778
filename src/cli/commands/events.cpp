#include "cli/commands/events.h"

#include <ctime>
#include <iostream>
#include <map>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/json/lock_json.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "doclock/lock_provider.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using nlohmann::json;
using SystemClock = std::chrono::system_clock;

/// One lock among those of one holder on one document: its shares are counted.
using Identity = std::tuple<Key, std::string, std::string, std::int64_t, LockMode, int>;
using Locks = std::map<Identity, LockStatus>;

std::int64_t Milliseconds(SystemClock::time_point when) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count();
}

/// In UTC, as 2026-01-31T12:00:00Z.
std::string TimeText(SystemClock::time_point when) {
  const std::time_t seconds = SystemClock::to_time_t(when);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

Locks Look(const LockProvider& provider, const EventsOptions& options) {
  Locks locks;
  LockFilter filter;
  filter.name_prefix = options.prefix;
  for (LockStatus& lock : provider.Admin().Status(filter)) {
    const LockHolder& holder = lock.holder;
    Identity identity{lock.key, holder.name, holder.host, holder.pid, lock.mode, 0};
    while (locks.contains(identity)) ++std::get<int>(identity);
    locks.emplace(std::move(identity), std::move(lock));
  }
  return locks;
}

/// Was it granted anew to the same holder? A store may forget a fence, but does not change it.
bool IsAnother(const LockStatus& before, const LockStatus& now) {
  return before.fence && now.fence && *before.fence != *now.fence;
}

/// Prints the events of one collection.
class Printer {
 public:
  Printer(const LockManager& manager, const EventsOptions& options) : json_(options.json) {
    try {
      documents_.emplace(manager, options.collection);
    } catch (const StoreException& error) {
      if (error.errc() != Errc::kRefused) throw;  // another library's locks: no body, and no note
    }
  }

  void Compare(const Locks& before, const Locks& now, SystemClock::time_point since) {
    for (const auto& [identity, lock] : before) {
      const auto found = now.find(identity);
      const bool gone = found == now.end() || IsAnother(lock, found->second);
      if (gone) Gone(lock, since);
      if (!gone && found->second.expired && !lock.expired) Print("expired", found->second);
    }
    for (const auto& [identity, lock] : now) {
      const auto found = before.find(identity);
      if (found == before.end() || IsAnother(found->second, lock)) Print("granted", lock);
    }
    std::cout << std::flush;
  }
  void PrintHeld(const Locks& locks) {
    for (const auto& [identity, lock] : locks) Print(lock.expired ? "expired" : "held", lock);
    std::cout << std::flush;
  }

 private:
  /// An expired lock that is gone was cleared, or the next holder has come.
  void Gone(const LockStatus& lock, SystemClock::time_point since) {
    const std::string by = Breaker(lock, since);
    if (!by.empty()) return Print("broken", lock, by);
    if (!lock.expired) Print("released", lock);
  }
  /// The client that broke the lock; empty: none that is known. (See LockAdmin::Break.)
  std::string Breaker(const LockStatus& lock, SystemClock::time_point since) const {
    if (!documents_) return {};
    const auto found = documents_->Find(lock.key);
    if (!found || !(*found)->is_object() || !(*found)->contains("broken")) return {};
    const json& note = (*found)->at("broken");
    if (!note.is_object() || !note.contains("at") || !note.at("at").is_number()) return {};
    const bool recent = note.at("at").get<std::int64_t>() >= Milliseconds(since);
    if (!recent) return {};
    const auto by = note.find("by");
    return by != note.end() && by->is_string() ? by->get<std::string>() : "unknown";
  }
  void Print(std::string_view event, const LockStatus& lock, const std::string& by = {}) const {
    const auto now = SystemClock::now();
    if (json_) {
      json line = JsonOf(lock);
      line["event"] = event;
      line["atMs"] = Milliseconds(now);
      if (!by.empty()) line["by"] = by;
      return PrintJson(line);
    }
    std::cout << TimeText(now) << ' ' << event << ' ' << Printable(lock.name) << ", holder "
              << Printable(lock.holder.ToString())
              << (lock.fence ? ", fence " + std::to_string(*lock.fence) : "")
              << (by.empty() ? "" : ", by " + Printable(by)) << '\n';
  }

  std::optional<LockingRepository<json>> documents_;
  const bool json_;
};

/// With --follow it waits for a collection that no program has made yet.
LockProvider OpenCollection(const LockManager& manager, const EventsOptions& options) {
  for (bool told = false;; std::this_thread::sleep_for(options.interval.ms())) {
    try {
      return LockProvider(manager, options.collection);
    } catch (const NotFoundException& error) {
      if (!options.follow) throw;
      if (!std::exchange(told, true)) Tell(error.what() + std::string("; waiting for it"));
    }
  }
}

}  // namespace

int Events(const LockManager& manager, const EventsOptions& options) {
  const LockProvider provider = OpenCollection(manager, options);
  Printer printer(manager, options);
  auto looked = SystemClock::now();
  Locks locks = Look(provider, options);
  printer.PrintHeld(locks);
  while (options.follow && std::cout) {
    std::this_thread::sleep_for(options.interval.ms());
    const auto now = SystemClock::now();
    Locks next = Look(provider, options);
    // A second of grace: the client that broke a lock has another clock.
    printer.Compare(locks, next, looked - std::chrono::seconds(1));
    locks = std::move(next);
    looked = now;
  }
  return kOk;
}

}  // namespace doclock::cli
