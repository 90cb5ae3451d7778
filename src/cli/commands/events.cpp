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

/// One lock among those of one holder on one document: its shares have a fence each. Where the
/// store knows none, they are counted.
using Identity =
    std::tuple<Key, std::string, std::string, std::int64_t, LockMode, std::int64_t, int>;
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
    const std::int64_t fence = lock.mode == LockMode::kShared ? lock.fence.value_or(0) : 0;
    Identity identity{lock.key, holder.name, holder.host, holder.pid, lock.mode, fence, 0};
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

  /// @throws StoreException before anything is printed
  void Compare(const Locks& before, const Locks& now, SystemClock::time_point since) {
    std::vector<Event> events;
    for (const auto& [identity, lock] : before) {
      const auto found = now.find(identity);
      const bool gone = found == now.end() || IsAnother(lock, found->second);
      if (gone) events.push_back(Gone(lock, since));
      if (!gone && found->second.expired && !lock.expired) {
        events.push_back({"expired", &found->second});
      }
    }
    for (const auto& [identity, lock] : now) {
      const auto found = before.find(identity);
      if (found == before.end() || IsAnother(found->second, lock)) {
        events.push_back({"granted", &lock});
      }
    }
    for (const Event& event : events) {
      if (event.note_at) told_[event.lock->key] = *event.note_at;
      if (!event.what.empty()) Print(event.what, *event.lock, event.by);
    }
    std::cout << std::flush;
  }
  void PrintHeld(const Locks& locks) {
    for (const auto& [identity, lock] : locks) Print(lock.expired ? "expired" : "held", lock);
    std::cout << std::flush;
  }

 private:
  struct Event {
    std::string_view what;  ///< Empty: nothing is told.
    const LockStatus* lock = nullptr;
    std::string by{};
    std::optional<std::int64_t> note_at{};
  };

  /// An expired lock that is gone was cleared, or the next holder has come.
  Event Gone(const LockStatus& lock, SystemClock::time_point since) const {
    const json note = Note(lock.key);
    if (!IsAbout(note, lock, since)) return {lock.expired ? "" : "released", &lock};
    const json by = note.value("by", json());
    return {"broken", &lock, by.is_string() ? by.get<std::string>() : "unknown",
            note.at("at").get<std::int64_t>()};
  }
  /// The note in the document about who broke its lock; null: there is none. (See
  /// LockAdmin::Break.)
  json Note(const Key& key) const {
    if (!documents_) return {};
    try {
      const auto found = documents_->Find(key);
      return found && (*found)->is_object() ? (*found)->value("broken", json()) : json();
    } catch (const DocumentException&) {
      return {};  // no body that can be read, and so no note
    }
  }
  /// Is it the note of this lock's end? It stays in the document, beside the locks that follow.
  bool IsAbout(const json& note, const LockStatus& lock, SystemClock::time_point since) const {
    const json at = note.is_object() ? note.value("at", json()) : json();
    if (!at.is_number_integer() || at.get<std::int64_t>() < Milliseconds(since)) return false;
    const auto told = told_.find(lock.key);
    if (told != told_.end() && told->second == at.get<std::int64_t>()) return false;
    // All shares are ended together, and the note names one of them.
    const LockHolder& holder = lock.holder;
    return lock.mode == LockMode::kShared || (note.value("holder", json()) == holder.name &&
                                              note.value("holderHost", json()) == holder.host &&
                                              note.value("holderPid", json()) == holder.pid);
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
  std::map<Key, std::int64_t> told_;  ///< The times of the last notes that were told.
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
  for (bool away = false; options.follow && std::cout;) {
    std::this_thread::sleep_for(options.interval.ms());
    const auto now = SystemClock::now();
    try {
      Locks next = Look(provider, options);
      // A second of grace: the client that broke a lock has another clock.
      printer.Compare(locks, next, looked - std::chrono::seconds(1));
      locks = std::move(next);
      looked = now;
      away = false;
    } catch (const StoreException& error) {
      if (!error.transient()) throw;
      if (!std::exchange(away, true)) Tell(error);
    }
  }
  return kOk;
}

}  // namespace doclock::cli
