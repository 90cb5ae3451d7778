// A process made by fork alone has a copy of every handle, and none of its rights.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "doclock/locking_repository.h"
#include "doclock/transaction.h"
#include "sqlite/processes/process_coordinator.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"

namespace doclock::sqlite_test {
namespace {

/// The exit status of a child that does this; -1 if it died or hung.
int InChild(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(act());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool IsForked(const std::function<void()>& act) {
  try {
    act();
  } catch (const LockException& error) {
    return error.errc() == Errc::kForked;
  } catch (const std::exception&) {
  }
  return false;
}

class SqliteFork : public SqliteTest {
 protected:
  using Things = LockingRepository<nlohmann::json>;
  void SetUp() override { DOCLOCK_NEEDS_COORDINATOR(); }
};

TEST_F(SqliteFork, AHandleIsDeadInTheChildAndAliveInTheParent) {
  auto manager = std::make_unique<LockManager>(OpenSqliteStore(file_));
  auto things = std::make_unique<Things>(*manager, "things");
  things->Insert("other", {{"step", 0}});
  auto handle = things->Lock({"1", nlohmann::json{{"step", 1}}});
  const std::int64_t version = handle.version();
  (*handle)["step"] = 2;
  Transaction begun(*manager);
  begun.Insert(*things, "fourth", nlohmann::json::object()).Release(handle);

  const std::vector<std::function<void()>> acts = {
      [&] { handle.Save(); },
      [&] { handle.Release(); },
      [&] { handle.Discard(); },
      [&] { handle.Erase(); },
      [&] { handle.Detach(); },
      [&] { (void)things->TryLock("other"); },
      [&] { (void)things->LockNext(Filter()); },
      [&] { (void)things->Find("other"); },
      [&] { things->Insert("third", nlohmann::json::object()); },
      [&] { begun.Commit(); },
      [&] {
        Transaction transaction(*manager);
        transaction.Insert(*things, "third", nlohmann::json::object()).Commit();
      },
  };
  EXPECT_EQ(InChild([&] {
              for (std::size_t i = 0; i < acts.size(); ++i) {
                if (!IsForked(acts[i])) return static_cast<int>(i + 1);
              }
              if (handle.held()) return 100;
              handle = {};
              things.reset();
              manager.reset();
              return 0;
            }),
            0);

  EXPECT_TRUE(handle.held());
  EXPECT_EQ(handle.version(), version);
  Client another(file_);
  EXPECT_EQ(another.Acquire("1").status, OpStatus::kBusy);
  EXPECT_EQ(another.Read("1").result.version, version);
  EXPECT_EQ(another.Read("third").status, OpStatus::kMissing);
  EXPECT_EQ(another.Read("fourth").status, OpStatus::kMissing);
  begun.Commit();
  EXPECT_EQ(another.Read("fourth").status, OpStatus::kDone);
  EXPECT_EQ(another.Read("1").result.version, version + 1);
  EXPECT_EQ(another.Read("1").result.body.json().at("step"), 2);
  EXPECT_EQ(another.Acquire("1").status, OpStatus::kDone);
}

TEST_F(SqliteFork, AnOpenHandleThatTheChildForgetsStaysTheParents) {
  const Things things(LockManager(OpenSqliteStore(file_)), "things");
  auto handle = things.Lock({"1", nlohmann::json{{"step", 1}}});
  EXPECT_EQ(InChild([&] {
              { const auto mine = std::move(handle); }
              return 0;
            }),
            0);
  EXPECT_EQ(Client(file_).Acquire("1").status, OpStatus::kBusy);
  handle.Release();
}

/// True if the store is refused, with the reason; false if it opens.
bool IsRefused(const std::filesystem::path& file) {
  try {
    OpenSqliteStore(file);
    return false;
  } catch (const StoreException& error) {
    return error.errc() == Errc::kRefused &&
           std::string(error.what()).find("forked") != std::string::npos;
  }
}

TEST_F(SqliteFork, AChildOfABusyParentIsRefusedAStoreInsteadOfHanging) {
  std::atomic<bool> stop{false};
  {
    std::vector<std::jthread> busy;
    for (int i = 0; i < 2; ++i) {
      busy.emplace_back([&, i] {
        Client client(file_, {.sync = SqliteSync::kNormal});
        while (!stop) client.Release(std::to_string(i), client.Create(std::to_string(i)));
      });
    }
    Client here(file_);
    for (int round = 0; round < 20; ++round) {
      EXPECT_EQ(InChild([&] { return IsRefused(file_) && IsRefused(folder_ / "own.db") ? 0 : 1; }),
                0);
    }
    stop = true;
  }
  EXPECT_EQ(Client(file_).Create("1").status, OpStatus::kDone);
}

TEST_F(SqliteFork, AChildOfAParentWithoutStoresOpensOne) {
  { Client(file_).Create("1"); }
  EXPECT_EQ(InChild([&] {
              if (Client(file_).Acquire("1").status != OpStatus::kDone) return 1;
              const Client open(file_);
              return InChild([&] { return IsRefused(file_) ? 0 : 1; });
            }),
            0);
  EXPECT_EQ(Client(file_).Acquire("1").status, OpStatus::kDone);
}

TEST_F(SqliteFork, AChildThatIsForkedWhileAStoreOpensOrClosesHasNoneOfItsSignsOfLife) {
  Client(file_).Create("1");
  std::atomic<bool> stop{false};
  std::vector<std::int64_t> slots;
  std::vector<pid_t> children;
  const auto last = sqlite::ProcessCoordinator::Open(file_, sqlite::DeadlineIn(10s));
  {
    std::jthread opens([&] {
      while (!stop)
        slots.push_back(sqlite::ProcessCoordinator::Open(file_, sqlite::DeadlineIn(10s))->slot());
    });
    for (int i = 0; i < 100; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::alarm(60);
        ::pause();
        ::_exit(0);
      }
      children.push_back(child);
    }
    stop = true;
  }
  const auto alive = [&] {
    return std::count_if(slots.begin(), slots.end(), [&](std::int64_t slot) {
      return last->Look(slot) != sqlite::Liveness::kDead;
    });
  };
  // The last children may not have come to run yet.
  const auto deadline = sqlite::DeadlineIn(20s);
  while (alive() > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(alive(), 0) << "of " << slots.size();
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

}  // namespace
}  // namespace doclock::sqlite_test
