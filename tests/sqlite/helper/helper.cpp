// A process for the tests of the SQLite store to start, stop and kill. It says what it did on
// standard output, a line at a time, and takes orders from standard input.

#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "doclock/json/uuid.h"
#include "doclock/transaction.h"
#include "process/helper.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/support/client.h"
#include "sqlite/support/count.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

using test::Arguments;
using test::NextOrder;
using test::Tell;

/// share <database> <key> <ttl ms> <limit>: takes a share, and gives it back when told to.
int Share(const Arguments& arguments) {
  Client client(arguments.at(1));
  const std::string& key = arguments.at(2);
  const std::chrono::milliseconds ttl(std::stoll(arguments.at(3)));
  const AcquireOp held = client.Acquire(key, {.insert = Body::FromText("{}"),
                                              .ttl = ttl,
                                              .mode = LockMode::kShared,
                                              .max_holders = std::stoi(arguments.at(4))});
  Tell(held.status == OpStatus::kDone ? "held" : "busy");
  NextOrder();
  if (client.ReleaseShare(key, held.request.grant.lock_id).status != OpStatus::kDone) return 4;
  Tell("released");
  NextOrder();
  return 0;
}

/// transfer <database>: moves an amount from one account to the other, and inserts a message, in
/// one transaction, until it is killed.
int Transfer(const Arguments& arguments) {
  using nlohmann::json;
  LockManager manager(OpenSqliteStore(arguments.at(1), {.sync = SqliteSync::kNormal}));
  const LockingRepository<json> accounts(manager, "accounts"), outbox(manager, "outbox");
  Tell("ready");
  for (;;) {
    auto both = accounts.LockAll({"a", "b"}, {.wait = kForever});
    json &from = *both[0], &to = *both[1];
    from["amount"] = from["amount"].get<int>() - 1;
    to["amount"] = to["amount"].get<int>() + 1;
    Transaction(manager).Release(both).Insert(outbox, NewUuid(), json::object()).Commit();
  }
}

/// crowd <database> <key> <limit> <n>: see test::Crowd.
int Crowd(const Arguments& arguments) {
  Client client(arguments.at(1), {.sync = SqliteSync::kNormal});
  const std::string& key = arguments.at(2);
  const int limit = std::stoi(arguments.at(3));
  return test::Crowd(
      arguments.at(1) + ".heads", limit, std::stoi(arguments.at(4)),
      [&] { return client.Share(key, limit); },
      [&](const Uuid& id) { return client.ReleaseShare(key, id); });
}

/// hold <database> <key> <ttl ms> <detached>: takes the lock; each order "release" gives it back,
/// "acquire" takes it again.
int Hold(const Arguments& arguments) {
  Client client(arguments.at(1));
  const std::string& key = arguments.at(2);
  const std::chrono::milliseconds ttl(std::stoll(arguments.at(3)));
  const bool detached = arguments.at(4) == "detached";
  for (;;) {
    const AcquireOp held =
        client.Acquire(key, {.insert = Body::FromText("{}"), .ttl = ttl, .detached = detached});
    if (held.status != OpStatus::kDone) return 3;
    Tell("held " + std::to_string(held.result.version));
    NextOrder();
    if (client.Release(key, held).status != OpStatus::kDone) return 4;
    Tell("released " + std::to_string(BootClock::now().time_since_epoch().count()));
    NextOrder();
  }
}

/// wait <database> <key>: leaves an entry, and repeats the attempt at each order. Tells each time
/// what came of it: "queued", "busy", or "granted" and the version.
int Wait(const Arguments& arguments) {
  Client client(arguments.at(1), {.sync = SqliteSync::kNormal});
  const Uuid id = NewUuid();
  for (;;) {
    const AcquireOp op = client.Wait(arguments.at(2), id);
    if (op.status == OpStatus::kDone) {
      Tell("granted " + std::to_string(op.result.version));
    } else {
      Tell(op.status == OpStatus::kBusy && op.result.queued ? "queued" : "busy");
    }
    NextOrder();
  }
}

/// work <database> <seed> <keys>: locks, counts and releases for ever. Tells each grant ("A key
/// version") and each release ("R key version") once the store has acknowledged it.
int Work(const Arguments& arguments) {
  Client client(arguments.at(1), {.sync = SqliteSync::kNormal});
  std::mt19937 random(static_cast<unsigned>(std::stoul(arguments.at(2))));
  const int keys = std::stoi(arguments.at(3));
  Tell("ready");
  for (;;) {
    const std::string key = std::to_string(random() % static_cast<unsigned>(keys));
    const AcquireOp held = client.Create(key, R"({"count":0})");
    if (held.status == OpStatus::kBusy) continue;
    if (held.status != OpStatus::kDone) return 3;
    Tell("A " + key + " " + std::to_string(held.result.version));
    if (random() % 4 == 0 &&
        client.Renew(key, held.request.grant.lock_id).status != OpStatus::kDone) {
      return 5;
    }
    nlohmann::json body = held.result.body.json();
    body["count"] = body["count"].get<int>() + 1;
    const WriteOp release = client.Release(key, held, Body::FromJson(body));
    if (release.status != OpStatus::kDone) return 4;
    Tell("R " + key + " " + std::to_string(release.result.version));
  }
}

/// cycle <database> <key> <ms>: locks and releases for this long when told to begin. Tells how
/// often it did, and the longest cycle in microseconds.
int Cycle(const Arguments& arguments) {
  Client client(arguments.at(1));
  const std::string& key = arguments.at(2);
  client.Release(key, client.Create(key));
  Tell("ready");
  NextOrder();
  const auto start = std::chrono::steady_clock::now();
  const auto end = start + std::chrono::milliseconds(std::stoll(arguments.at(3)));
  auto before = start;
  long cycles = 0;
  std::chrono::steady_clock::duration longest{};
  while (before < end) {
    const AcquireOp held = client.Create(key);
    if (held.status != OpStatus::kDone) return 3;
    if (client.Release(key, held).status != OpStatus::kDone) return 4;
    ++cycles;
    const auto now = std::chrono::steady_clock::now();
    longest = std::max(longest, now - before);
    before = now;
  }
  Tell(std::to_string(cycles) + " " +
       std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(longest).count()));
  return 0;
}

/// try <database> <key>: tells whether it gets the lock ("held version", and keeps it until told to
/// go on) or not ("busy", and how many milliseconds are left).
int Try(const Arguments& arguments) {
  Client client(arguments.at(1));
  const AcquireOp op = client.Acquire(arguments.at(2));
  if (op.status == OpStatus::kDone) {
    Tell("held " + std::to_string(op.result.version));
    NextOrder();
  } else {
    Tell("busy " + std::to_string(op.detail->remaining.value_or(0ms).count()));
  }
  return 0;
}

/// count <database> <key> <n> <lock|save|mixed>: adds one to the document's count n times.
int Count(const Arguments& arguments) {
  const Counters counters = OpenCounters(arguments.at(1));
  Tell("ready");
  NextOrder();
  CountUp(counters, arguments.at(2), std::stoi(arguments.at(3)), arguments.at(4));
  Tell("counted");
  return 0;
}

/// begin <database>: tells whether it could begin to write at once, as a program that knows nothing
/// of this library.
int Begin(const Arguments& arguments) {
  RawDatabase database(arguments.at(1));
  try {
    database.Run("PRAGMA busy_timeout=0; BEGIN IMMEDIATE; ROLLBACK");
    Tell("begun");
  } catch (const std::runtime_error&) {
    Tell("busy");
  }
  return 0;
}

/// turn <database>: keeps the write turn until told to leave.
int HoldWriteTurn(const Arguments& arguments) {
  const auto coordinator =
      sqlite::ProcessCoordinator::Open(arguments.at(1), sqlite::DeadlineIn(10s));
  if (!coordinator->Enter(sqlite::DeadlineIn(10s))) return 3;
  Tell("inside");
  NextOrder();
  coordinator->Leave();
  Tell("left");
  return 0;
}

/// open <database> [existing]: tells what happens.
int Open(const Arguments& arguments) {
  try {
    OpenSqliteStore(arguments.at(1), {.create = arguments.size() < 3, .busy_timeout = 200ms});
    Tell("open");
  } catch (const StoreException& error) {
    Tell(std::string(error.transient() ? "again: " : "") + error.what());
  }
  return 0;
}

/// fill <database> <n>: inserts the documents 0 to n-1, and keeps the store open until told.
int Fill(const Arguments& arguments) {
  Client client(arguments.at(1), {.sync = SqliteSync::kNormal});
  for (int i = 0; i < std::stoi(arguments.at(2)); ++i) {
    if (client.Insert(std::to_string(i)).status != OpStatus::kDone) return 3;
  }
  Tell("filled");
  NextOrder();
  return 0;
}

/// reopen <database> <n>: opens and closes so often, with a document made each time.
int Reopen(const Arguments& arguments) {
  Tell("ready");
  NextOrder();
  for (int i = 0; i < std::stoi(arguments.at(2)); ++i) {
    try {
      Client client(arguments.at(1), {.sync = SqliteSync::kNormal, .busy_timeout = 1min});
      const SaveOp op = client.Insert(ToText(NewUuid()));
      if (op.status != OpStatus::kDone) Tell(op.detail ? op.detail->message : "not done");
    } catch (const StoreException& error) {
      Tell(error.what());
    }
  }
  Tell("done");
  return 0;
}

/// as <user id> <command...>: as another user.
int Run(const Arguments& arguments);
int As(const Arguments& arguments) {
  const auto user = static_cast<uid_t>(std::stoul(arguments.at(1)));
  if (::setgid(user) != 0 || ::setuid(user) != 0) return 6;
  return Run({arguments.begin() + 2, arguments.end()});
}

/// member <user id> <group id> <further group id> <command...>: as another user, who lets others
/// read nothing by default.
int Member(const Arguments& arguments) {
  const auto number = [&](std::size_t i) {
    return static_cast<uid_t>(std::stoul(arguments.at(i)));
  };
  const gid_t further = number(3);
  ::umask(077);
  if (::setgroups(1, &further) != 0 || ::setgid(number(2)) != 0) return 6;
  if (::setuid(number(1)) != 0) return 6;
  return Run({arguments.begin() + 4, arguments.end()});
}

/// deaf <database>: watches while no thread can be started, and then while one can. Tells what
/// happens.
int Deaf(const Arguments& arguments) {
  const Client client(arguments.at(1));
  const auto watch = [&] {
    return client.store().Watch(client.collection(), [](const LockHint&) {});
  };
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  // Not enough for a thread's stack.
  const rlimit tight{pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (1 << 20),
                     limit.rlim_max};
  ::setrlimit(RLIMIT_AS, &tight);
  std::string told = "watching";
  try {
    (void)watch();
  } catch (const StoreException& error) {
    told = error.transient() ? "unavailable" : "refused";
  }
  ::setrlimit(RLIMIT_AS, &limit);
  Tell(told);
  Tell(watch() ? "watching" : "no notifications");
  return 0;
}

/// now: tells the BootClock's time in milliseconds.
int Now(const Arguments&) {
  Tell(std::to_string(BootClock::now().time_since_epoch() / 1ms));
  return 0;
}

int Run(const Arguments& arguments) {
  const std::map<std::string, int (*)(const Arguments&)> commands = {
      {"hold", Hold},     {"work", Work},
      {"cycle", Cycle},   {"turn", HoldWriteTurn},
      {"open", Open},     {"as", As},
      {"now", Now},       {"try", Try},
      {"count", Count},   {"begin", Begin},
      {"share", Share},   {"crowd", Crowd},
      {"deaf", Deaf},     {"wait", Wait},
      {"member", Member}, {"fill", Fill},
      {"reopen", Reopen}, {"transfer", Transfer}};
  return commands.at(arguments.at(0))(arguments);
}

}  // namespace
}  // namespace doclock::sqlite_test

int main(int argc, char** argv) {
  return doclock::test::Main(argc, argv, doclock::sqlite_test::Run);
}
