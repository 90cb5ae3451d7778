#pragma once

#include <boost/uuid/uuid_io.hpp>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "doclock/lock_provider.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/layouts/mongo_lock_peer.h"
#include "mongodb/layouts/peers.h"

namespace doclock::mongo_test {

/// Who contends for a lock in the collection "locks", and how.
struct Contest {
  std::string server, database, name;
  int workers = 1;
  std::chrono::milliseconds ttl{}, hold{}, rest{};
  std::string layout = {};
  int shares = 0;  ///< How many share it at most; 0: it is taken exclusively.
};

/// From <server's uri> <database> <name> <workers> <ttl ms> <hold ms> <rest ms> <layout> <shares>.
inline Contest ReadContest(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t place) {
    return std::chrono::milliseconds(std::stoll(arguments.at(place)));
  };
  return {arguments.at(1), arguments.at(2), arguments.at(3), std::stoi(arguments.at(4)), number(5),
          number(6),       number(7),       arguments.at(8), std::stoi(arguments.at(9))};
}

/// The clock that all processes of this machine share.
inline std::string SharedClock() {
  return std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
}

using Teller = std::function<void(const std::string& line)>;

/// Tells "got <sent> <now> <token>" and "releasing <now>" of each lock, and "lost <now>", until the
/// process is killed.
inline void ContendForLock(const Contest& contest, const Teller& tell) {
  MongodbStoreOptions options;
  options.layouts["locks"] = contest.layout;
  const LockManager manager(
      OpenMongodbStore(WithDatabase(contest.server, contest.database), options));
  const LockProvider locks(manager, "locks", {.ttl = contest.ttl});
  LockOptions how{.wait = kForever};
  if (contest.shares > 0) how.mode = LockMode::kShared, how.max_holders = contest.shares;
  const auto once = [&] {
    const std::string sent = SharedClock();
    HeldLock lock = locks.Acquire(contest.name, how);
    tell("got " + sent + " " + SharedClock() + " " + std::to_string(lock.fence()));
    std::this_thread::sleep_for(contest.hold);
    if (!lock.held()) return tell("lost " + SharedClock());
    tell("releasing " + SharedClock());
    lock.Release();
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < contest.workers; ++i) {
    workers.emplace_back([&] {
      for (;;) {
        try {
          once();
        } catch (const Error&) {
          // The primary is away.
        }
        std::this_thread::sleep_for(contest.rest);
      }
    });
  }
}

/// The same by a re-created peer, one worker, which renews nothing: the lease covers the hold.
inline void ContendAsPeer(const Contest& contest, const Teller& tell) {
  const auto peer = MakePeer(contest.layout, contest.server, contest.database, "locks");
  const auto once = [&] {
    const auto started = std::chrono::steady_clock::now();
    std::string sent;
    std::optional<LockPeer::Held> held;
    while (sent = SharedClock(), !(held = peer->TryAcquire(contest.name, contest.ttl))) {
      std::this_thread::sleep_for(peer->Pause());
    }
    const auto waited = std::chrono::steady_clock::now() - started;
    tell("got " + sent + " " + SharedClock() + " " + std::to_string(held->token) + " " +
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(waited).count()));
    std::this_thread::sleep_for(contest.hold);
    tell("releasing " + SharedClock());
    peer->Release(contest.name, *held);
  };
  for (;;) {
    try {
      once();
    } catch (const LockPeer::FormatException& error) {
      tell(error.what());  // which no line of a history is
    } catch (const std::runtime_error&) {
      // The primary is away.
    }
    std::this_thread::sleep_for(contest.rest);
  }
}

/// The same by RecreatedMongoLock.
inline void ContendAsMongoLock(const Contest& contest, const Teller& tell) {
  RecreatedMongoLock peer(contest.server, contest.database);
  const auto ttl = static_cast<unsigned>(contest.ttl / std::chrono::seconds(1));
  std::mt19937 random{std::random_device{}()};
  for (;;) {
    const std::string id = boost::uuids::to_string(NewUuid());
    const auto started = std::chrono::steady_clock::now();
    std::string sent, answer;
    while (answer != "done 0") {
      sent = SharedClock();
      answer = contest.shares > 0 ? peer.SLock(contest.name, id, contest.shares, ttl)
                                  : peer.XLock(contest.name, id, ttl);
      if (answer == "locked") {
        std::this_thread::sleep_for(
            std::chrono::milliseconds(std::uniform_int_distribution(10, 100)(random)));
      } else if (answer != "done 0") {
        break;  // The primary is away; that id may have been granted.
      }
    }
    if (answer != "done 0") continue;
    const auto waited = std::chrono::steady_clock::now() - started;
    tell("got " + sent + " " + SharedClock() + " 0 " +
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(waited).count()));
    std::this_thread::sleep_for(contest.hold);
    tell("releasing " + SharedClock());
    peer.Unlock(id);
    std::this_thread::sleep_for(contest.rest);
  }
}

}  // namespace doclock::mongo_test
