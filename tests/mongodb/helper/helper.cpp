// A process for the tests of the MongoDB store to start, stop and kill. It says what it did on
// standard output, a line at a time, and takes orders from standard input.

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "doclock/locking_repository.h"
#include "doclock/stores/mongodb.h"
#include "doclock/transaction.h"
#include "mongodb/helper/contend.h"
#include "mongodb/support/client.h"
#include "process/helper.h"

namespace doclock::mongo_test {
namespace {

using test::Arguments;
using test::NextOrder;
using test::Tell;
using Things = LockingRepository<nlohmann::json>;

/// The standard output, for what is told alone: the driver prints its complaints there.
int TakeStandardOutput() {
  const int told = ::dup(STDOUT_FILENO);
  if (told < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) std::exit(2);
  return told;
}

Things Open(const std::string& uri, std::chrono::milliseconds ttl) {
  return {LockManager(OpenMongodbStore(uri)), "things", {.ttl = ttl}};
}

/// The time of the wall clock, in seconds, as this process sees it.
std::string WallClock() { return std::to_string(std::time(nullptr)); }

/// hold <uri> <key> <ttl ms>: takes the lock ("held <fence> <wall clock>"), and does what it is
/// ordered to with a document that it has changed: "save", "release". Tells "done", "lost", or what
/// else the library says; "release" comes with the nanoseconds of CLOCK_BOOTTIME before it was
/// sent.
int Hold(const Arguments& arguments) {
  const Things things =
      Open(arguments.at(1), std::chrono::milliseconds(std::stoll(arguments.at(3))));
  auto lock = things.Lock(arguments.at(2), {.wait = std::chrono::seconds(20)});
  Tell("held " + std::to_string(lock.fence()) + " " + WallClock());
  for (;;) {
    const std::string order = NextOrder();
    (*lock)["written by"] = "the holder";
    const auto sent = BootClock::now().time_since_epoch().count();
    try {
      if (order == "save") {
        lock.Save();
        Tell("done");
      } else {
        lock.Release();
        Tell("done " + std::to_string(sent));
        return 0;
      }
    } catch (const LockException& error) {
      Tell(error.errc() == Errc::kLost ? "lost" : error.what());
    } catch (const Error& error) {
      Tell(error.what());
    }
  }
}

/// try <uri> <key>: tells "held", and what the wall clock says; or "busy" and the milliseconds that
/// are left of the holder's lease.
int Try(const Arguments& arguments) {
  const Things things = Open(arguments.at(1), std::chrono::seconds(30));
  try {
    auto lock = things.Lock(arguments.at(2));
    Tell("held " + std::to_string(lock.fence()) + " " + WallClock());
  } catch (const LockException& error) {
    Tell("busy " +
         std::to_string(error.remaining().value_or(std::chrono::milliseconds(-1)).count()) + " " +
         WallClock());
  }
  return 0;
}

/// crowd <uri> <key> <limit> <n> <file>: see test::Crowd.
int Crowd(const Arguments& arguments) {
  Client client(OpenMongodbStore(arguments.at(1)));
  const Key key(arguments.at(2));
  const int limit = std::stoi(arguments.at(3));
  return test::Crowd(
      arguments.at(5), limit, std::stoi(arguments.at(4)),
      [&] { return client.Share(key, NewUuid(), limit, Counted(1)); },
      [&](const Uuid& id) { return client.ReleaseShare(key, id); });
}

/// transfer <uri> <from> <to>: moves amounts from one document to the other, in transactions; tells
/// "moving" after the first one.
int Transfer(const Arguments& arguments) {
  const LockManager manager(OpenMongodbStore(arguments.at(1)));
  const Things things(manager, "things");
  for (bool told = false;; told = true) {
    auto both = things.LockAll({arguments.at(2), arguments.at(3)});
    for (auto& thing : both) {
      const int change = thing.key() == Key(arguments.at(2)) ? -1 : 1;
      (*thing)["n"] = (*thing)["n"].get<int>() + change;
    }
    Transaction(manager).Release(both).Commit();
    if (!told) Tell("moving");
  }
}

/// leave <uri> <job>: takes the lock in the collection "locks", and ends while it is held.
std::optional<LockManager> g_manager;
std::optional<HeldLock> g_held;
int Leave(const Arguments& arguments) {
  g_manager.emplace(OpenMongodbStore(arguments.at(1)));
  g_held = LockProvider(*g_manager, "locks").Acquire(arguments.at(2));
  Tell("held");
  return 0;
}

/// contend, and what ReadContest reads: see ContendForLock.
int Contend(const Arguments& arguments) {
  ContendForLock(ReadContest(arguments), Tell);
  return 0;
}

/// peer, likewise: see ContendAsPeer and ContendAsMongoLock.
int Peer(const Arguments& arguments) {
  const Contest contest = ReadContest(arguments);
  contest.layout == "mongolock" ? ContendAsMongoLock(contest, Tell) : ContendAsPeer(contest, Tell);
  return 0;
}

int Run(const Arguments& arguments) {
  const std::map<std::string, int (*)(const Arguments&)> commands = {
      {"hold", Hold},       {"try", Try},   {"crowd", Crowd}, {"transfer", Transfer},
      {"contend", Contend}, {"peer", Peer}, {"leave", Leave}};
  return commands.at(arguments.at(0))(arguments);
}

}  // namespace
}  // namespace doclock::mongo_test

int main(int argc, char** argv) {
  doclock::test::told = doclock::mongo_test::TakeStandardOutput();
  return doclock::test::Main(argc, argv, doclock::mongo_test::Run);
}
