#pragma once

#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "histories/worker/client.h"
#include "histories/worker/record.h"

namespace doclock::histories {

/// What all threads of a worker have in common: luck, and the record of what they do.
class Steps {
 protected:
  /// @param thread another one for each object of the process
  Steps(const Settings& settings, Record& record, const Client& client, int thread)
      : settings_(settings), record_(record), client_(client), thread_(thread) {
    random_.seed(settings.seed * 1000 + static_cast<unsigned>(settings.process * 100 + thread));
  }

  int Below(int limit) { return std::uniform_int_distribution(0, limit - 1)(random_); }
  std::chrono::milliseconds Wait() {
    return std::chrono::milliseconds(Below(settings_.ttl_ms + 200));
  }
  /// Never the same twice, in any process.
  std::string Fresh() {
    return std::to_string(settings_.process) + "." + std::to_string(thread_) + "." +
           std::to_string(++values_);
  }

  Json Call(const char* op, const std::string& key) const {
    return {{"op", op}, {"key", key}, {"c", thread_}};
  }
  /// Runs what was called and records its end. False: an exception ended it.
  bool Complete(std::int64_t id, const std::function<Json()>& run) {
    Json line;
    try {
      line = run();
      line["e"] = "ok";
    } catch (const InDoubtException&) {
      line = {{"e", "doubt"}};
    } catch (const Error& error) {
      line = {{"e", "fail"}, {"why", error.code().message()}};
    }
    const bool done = line["e"] == "ok";
    line["id"] = id;
    record_.Write(std::move(line));
    return done;
  }

  Json GrantLine(const Locked<Json>& lock) {
    return {{"grant", grants_.emplace_back(Fresh())},
            {"key", lock.key().ToString()},
            {"fence", lock.fence()},
            {"read", lock->at("v")}};
  }

  /// Locks a document, which may be missing, and gives it back.
  void TakeLast(const LockingRepository<Json>& repository, const std::string& key,
                const Json& first) {
    const std::int64_t id = record_.Call(Call("final", key));
    Complete(id, [&] {
      Locked<Json> lock = repository.Lock({key, first}, {.wait = std::chrono::minutes(1)});
      Json line = GrantLine(lock);
      lock.Discard();
      return line;
    });
  }

  /// Holds a lock for a while, and records the last moments at which it was held for certain.
  template <class Held>
  void Hold(const Held& held, const std::string& grant) {
    const int kind = Below(20);
    const int longest = kind < 14 ? 15 : (kind < 19 ? 150 : settings_.ttl_ms * 3 / 2);
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(Below(longest + 1));
    std::int64_t told = 0;
    for (;;) {
      // Read before: a pause between the two lines must not make the lock seem held later.
      const std::int64_t now = Record::Now();
      if (!held.held()) return;
      const bool last = std::chrono::steady_clock::now() >= end;
      if (last || now - told > 20'000'000) {
        record_.WriteAt(now, {{"e", "held"}, {"grant", grant}});
        told = now;
      }
      if (last) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  const Settings& settings_;
  Record& record_;
  const Client& client_;
  const int thread_;
  std::vector<std::string> grants_;  ///< Of the last call that took locks.

 private:
  std::mt19937 random_;
  std::int64_t values_ = 0;
};

}  // namespace doclock::histories
