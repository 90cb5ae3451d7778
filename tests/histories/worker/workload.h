#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "histories/worker/steps.h"

namespace doclock::histories {

/// Of a named lock that is shared.
inline constexpr int kShares = 3;

/// What one thread does: it takes locks, holds them, writes and reads, and records all of it.
class Workload : private Steps {
 public:
  Workload(const Settings& settings, Record& record, const Client& client, int thread)
      : Steps(settings, record, client, thread) {}

  void Run(std::chrono::steady_clock::time_point end) {
    while (std::chrono::steady_clock::now() < end) Step();
  }
  void Finish() {
    for (int i = 0; i < settings_.keys; ++i) TakeLast(client_.things, KeyOf(i), first_);
    for (int i = 0; i < 2; ++i) TakeLastName(NameOf(i));
  }

 private:
  static std::string KeyOf(int number) { return "key" + std::to_string(number); }
  static std::string NameOf(int number) { return "name" + std::to_string(number); }
  std::string AnyKey() { return KeyOf(Below(settings_.keys)); }
  void Step() {
    if (settings_.queue) return TakeTurn();
    if (Below(100) < settings_.names) {
      return TakeName(Below(3) == 0 ? LockMode::kExclusive : LockMode::kShared);
    }
    const int kind = Below(100);
    if (kind < 45) return LockOne();
    if (kind < 55) return LockNext();
    if (kind < 64) return LockTwo();
    if (kind < 78) return Find();
    if (kind < 90) return Save();
    Update();
  }

  /// Waits as long as it takes, and holds the lock for a moment: no renewal is due meanwhile.
  void TakeTurn() {
    Locked<Json> lock;
    const std::int64_t id = record_.Call(Call("lock", KeyOf(0)));
    const bool done = Complete(id, [&] {
      lock = client_.things.Lock({KeyOf(0), first_}, {.wait = std::chrono::minutes(1)});
      return GrantLine(lock);
    });
    if (!done) return;
    const std::string grant = grants_.back();
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + Below(40)));
    const std::int64_t now = Record::Now();
    if (lock.held()) record_.WriteAt(now, {{"e", "held"}, {"grant", grant}});
    WriteHeld("release", lock, grant, [&] { lock.Release(); });
  }

  void LockOne() {
    const std::string key = AnyKey();
    Locked<Json> lock;
    const bool asynchronous = Below(4) == 0;
    const LockOptions options{.wait = Wait()};
    const std::int64_t id = record_.Call(Call("lock", key));
    const bool done = Complete(id, [&] {
      lock = asynchronous ? client_.things.LockAsync({key, first_}, options).get()
                          : client_.things.Lock({key, first_}, options);
      return GrantLine(lock);
    });
    if (done) Work(std::move(lock), grants_.back());
  }

  void LockNext() {
    Locked<Json> lock;
    const std::int64_t id = record_.Call(Call("lock", ""));
    const bool done = Complete(id, [&] {
      lock = client_.things.LockNext(Filter().Equal("kind", "thing"), {.wait = Wait()});
      return GrantLine(lock);
    });
    if (done) Work(std::move(lock), grants_.back());
  }

  void LockTwo() {
    const int first = Below(settings_.keys);
    std::vector<Locked<Json>> locks;
    grants_.clear();
    const std::int64_t id = record_.Call(Call("lock all", ""));
    const bool done = Complete(id, [&] {
      locks = client_.things.LockAll({KeyOf(first), KeyOf((first + 1) % settings_.keys)},
                                     {.wait = Wait()});
      Json all = Json::array();
      for (const auto& lock : locks) all.push_back(GrantLine(lock));
      return Json{{"grants", all}};
    });
    if (!done) return;
    const std::vector<std::string> grants = grants_;
    for (std::size_t i = 0; i < locks.size(); ++i) Work(std::move(locks[i]), grants[i]);
  }

  /// Writes under a lock. False: it was not written.
  bool WriteHeld(const char* op, Locked<Json>& lock, const std::string& grant,
                 const std::function<void()>& write) {
    const std::string before = lock->at("v");
    const std::string value = Fresh();
    (*lock)["v"] = value;
    Json call = Call(op, lock.key().ToString());
    call.update({{"grant", grant}, {"prev", before}, {"write", value}});
    const std::int64_t id = record_.Call(std::move(call));
    const bool done = Complete(id, [&] {
      write();
      return Json{{"version", lock.version()}};
    });
    if (!done) (*lock)["v"] = before;
    return done;
  }

  void Work(Locked<Json> lock, const std::string& grant) {
    Hold(lock, grant);
    if (Below(4) == 0) {
      const bool asynchronous = Below(2) == 0;
      const auto save = [&] { asynchronous ? lock.SaveAsync().get() : lock.Save(); };
      const bool saved = WriteHeld("save", lock, grant, save);
      Hold(lock, grant);  // what is refused leaves it held
      if (!saved) return;
    }
    const int kind = Below(10);
    if (kind == 0) return;  // the handle gives it back
    if (kind == 1) {
      const std::int64_t id = record_.Call(Call("discard", lock.key().ToString()));
      Complete(id, [&] {
        lock.Discard();
        return Json::object();
      });
      return;
    }
    const bool released = WriteHeld(
        "release", lock, grant, [&] { kind == 2 ? lock.ReleaseAsync().get() : lock.Release(); });
    if (!released) Hold(lock, grant);
  }

  void Find() {
    const std::string key = AnyKey();
    const std::int64_t id = record_.Call(Call("find", key));
    Complete(id, [&] { return FoundLine(client_.things.Find(key)); });
  }
  static Json FoundLine(const std::optional<Snapshot<Json>>& found) {
    if (!found) return {{"read", nullptr}};
    return {{"read", (*found)->at("v")}, {"version", found->version()}};
  }

  void Save() {
    const std::string key = AnyKey();
    std::optional<Snapshot<Json>> found;
    const std::int64_t read = record_.Call(Call("find", key));
    const auto find = [&] {
      found = client_.things.Find(key);
      return FoundLine(found);
    };
    if (!Complete(read, find) || !found) return;
    Json call = Call("put", key);
    const std::string value = Fresh();
    call.update({{"prev", (**found)["v"]}, {"write", value}});
    (**found)["v"] = value;
    const std::int64_t id = record_.Call(std::move(call));
    Complete(id, [&] {
      client_.things.Save(*found);
      return Json{{"version", found->version()}};
    });
  }

  void Update() {
    const std::string key = AnyKey();
    const std::int64_t id = record_.Call(Call("update", key));
    Complete(id, [&] {
      client_.things.Update(key, [&](Json& thing) {
        const std::string value = Fresh();
        record_.Write({{"e", "try"}, {"id", id}, {"prev", thing["v"]}, {"write", value}});
        thing["v"] = value;
      });
      return Json::object();
    });
  }

  void TakeName(LockMode mode) {
    const bool shared = mode == LockMode::kShared;
    const std::string name = NameOf(Below(2));
    LockOptions options{.wait = Wait(), .mode = mode};
    if (shared) options.max_holders = kShares;
    Json call = Call(shared ? "share" : "name", name);
    if (shared) call["limit"] = kShares;
    HeldLock lock;
    const std::string grant = Fresh();
    const std::int64_t id = record_.Call(std::move(call));
    const bool done = Complete(id, [&] {
      lock = client_.names.Acquire(name, options);
      return Json{{"grant", grant}, {"key", name}, {"fence", lock.fence()}};
    });
    if (!done) return;
    Hold(lock, grant);
    if (Below(5) == 0) return;  // the handle gives it back
    const std::int64_t end = record_.Call(Call("release name", name));
    Complete(end, [&] {
      lock.Release();
      return Json::object();
    });
  }

  void TakeLastName(const std::string& name) {
    const std::int64_t id = record_.Call(Call("final name", name));
    Complete(id, [&] {
      const HeldLock lock = client_.names.Acquire(name, {.wait = std::chrono::minutes(1)});
      return Json{{"grant", Fresh()}, {"key", name}, {"fence", lock.fence()}};
    });
  }

  const Json first_ = {{"v", "first"}, {"kind", "thing"}};
};

}  // namespace doclock::histories
