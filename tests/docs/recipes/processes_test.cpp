// Workers of the transfer recipe in processes of their own, stopped and killed between any two of
// their calls.

#include <gtest/gtest.h>
#include <signal.h>

#include "doclock/sqlite_store.h"
#include "docs/recipes/bank.h"
#include "process/child.h"
#include "sqlite/support/temp_folder.h"

namespace {

using doclock::test::Child;

/// Moves "t" as a broker has it done: again and again, until it is done.
void Deliver(const Bank& bank, const Child& stopped) {
  for (;;) {
    try {
      return bank.MoveTen();
    } catch (const doclock::LockException& e) {
      ASSERT_EQ(e.errc(), doclock::Errc::kTimedOut) << e.what();
    } catch (const doclock::StoreException& e) {
      // A renewal was under way when the worker stopped: no process can write before it goes on.
      ASSERT_TRUE(e.transient()) << e.what();
      stopped.Signal(SIGCONT);
    }
  }
}

/// Plays a transfer whose worker gets the signal before its first call, its second, and so on.
void Play(int signal) {
  bool stopped = true;
  int call = 0;
  while (stopped) {
    SCOPED_TRACE("before its call " + std::to_string(++call));
    const doclock::sqlite_test::TempFolder folder;
    const auto file = folder / "bank.db";
    const Bank bank(doclock::OpenSqliteStore(file), 300ms);
    bank.Open();
    Child worker({file.string(), std::to_string(call), std::to_string(signal)});
    stopped = worker.Line() == "stops";
    if (stopped) {
      Deliver(bank, worker);
      EXPECT_EQ(bank.Balance("b"), 110);
      bank.MoveOthers(1);
    }
    worker.Signal(SIGCONT);
    worker.Rest();
    Deliver(bank, worker);
    EXPECT_EQ(bank.Balance("a"), 90);
    EXPECT_EQ(bank.Balance("b"), 110);
  }
  EXPECT_GT(call, 6);  // locks, the second look, and three writes
}

TEST(TransferProcesses, WhereverAWorkerIsStoppedTheMoneyMovesOnce) { Play(SIGSTOP); }

TEST(TransferProcesses, WhereverAWorkerIsKilledTheMoneyMovesOnce) { Play(SIGKILL); }

}  // namespace
