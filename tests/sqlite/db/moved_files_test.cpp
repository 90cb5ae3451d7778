// Files that are moved, deleted, replaced or mounted elsewhere while a store has them open: it says
// so, and nothing is lost that was acknowledged.

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <thread>

#include "doclock/errors.h"
#include "doclock/open_store.h"
#include "doclock/testing/faulty_store.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

namespace fs = std::filesystem;

/// The outcome of one call of a store: a status and a text.
struct Outcome {
  OpStatus status = OpStatus::kPending;
  Errc code = Errc::kBusy;
  std::string text;
};

Outcome OutcomeOf(const StoreOp& op) {
  Outcome outcome{op.status, Errc::kBusy, ""};
  if (op.detail) outcome.code = op.detail->code, outcome.text = op.detail->message;
  return outcome;
}

Outcome OutcomeOf(const std::function<void()>& call) {
  try {
    call();
    return {OpStatus::kDone, Errc::kBusy, ""};
  } catch (const Error& error) {
    return {OpStatus::kFailed, error.errc(), error.what()};
  }
}

class SqliteMovedFiles : public SqliteTest {
 protected:
  [[nodiscard]] fs::path With(const std::string& suffix) const { return file_.string() + suffix; }

  /// Every verb, on the document "held", which `held` holds.
  static std::map<std::string, Outcome> AllVerbs(Client& client, const AcquireOp& held) {
    std::map<std::string, Outcome> all;
    all["acquire"] = OutcomeOf(client.Acquire("free"));
    all["renew"] = OutcomeOf(client.Renew("held", held.request.grant.lock_id));
    all["write"] = OutcomeOf(
        client.Write("held", WriteKind::kCheckpoint, held.request.grant.lock_id,
                     {.expected = held.result.version, .body = Body::FromText(R"({"n":2})")}));
    all["save"] = OutcomeOf(client.Insert("new"));
    all["read"] = OutcomeOf(client.Read("free"));
    all["next"] = OutcomeOf(client.AcquireNext(Filter()).op);
    all["query"] = OutcomeOf([&] { (void)client.Rows(Filter()); });
    all["list"] = OutcomeOf([&] { (void)client.Locks(); });
    all["purge"] = OutcomeOf([&] { client.Purge(); });
    all["index"] = OutcomeOf([&] { client.EnsureIndex({.fields = {"n"}}); });
    all["break"] = OutcomeOf([&] { client.Break("held"); });
    all["open"] = OutcomeOf([&] { client.store().Open("others", {}, 30s); });
    return all;
  }
  static void ExpectAllRefused(Client& client, const AcquireOp& held, const std::string& name,
                               const std::string& because) {
    for (const auto& [verb, outcome] : AllVerbs(client, held)) {
      EXPECT_EQ(outcome.status, OpStatus::kFailed) << verb;
      EXPECT_EQ(outcome.code, Errc::kRefused) << verb << ": " << outcome.text;
      EXPECT_NE(outcome.text.find(name), std::string::npos) << verb << ": " << outcome.text;
      EXPECT_NE(outcome.text.find(because), std::string::npos) << verb << ": " << outcome.text;
    }
  }
};

struct Act {
  const char* name;
  void (*perform)(const fs::path& file);
};

constexpr Act kActs[] = {
    {"moved", [](const fs::path& file) { fs::rename(file, file.string() + ".old"); }},
    {"deleted", [](const fs::path& file) { fs::remove(file); }},
    {"replaced",
     [](const fs::path& file) {
       fs::copy_file(file, file.string() + ".copy");
       fs::rename(file.string() + ".copy", file);
     }},
};

TEST_F(SqliteMovedFiles, EveryVerbRefusesAndNamesTheFile) {
  for (const Act& act : kActs) {
    for (const std::string suffix : {"", "-wal", "-shm"}) {
      SCOPED_TRACE(act.name + suffix);
      const TempFolder folder;
      file_ = folder / "things.db";
      {
        Client client(file_);
        client.Insert("free");
        const AcquireOp held = client.Create("held");
        act.perform(With(suffix));
        ExpectAllRefused(client, held, With(suffix).string() + " ", "while it was open");
      }
      if (suffix.empty()) continue;
      // The database itself is where it was, and what was in the log has come to it.
      Client again(file_);
      EXPECT_EQ(again.Read("held").status, OpStatus::kDone);
      EXPECT_EQ(again.Read("new").status, OpStatus::kMissing);
      ExpectWorks();
    }
  }
}

TEST_F(SqliteMovedFiles, AReaderThatIsMadeLaterRefusesToo) {
  Client client(file_);  // has made no reader for documents yet
  fs::remove(With("-wal"));
  EXPECT_EQ(OutcomeOf(client.Read("1")).code, Errc::kRefused);
  EXPECT_FALSE(fs::exists(With("-wal"))) << "it may not be made anew";
}

TEST_F(SqliteMovedFiles, PutBackItWorksAgain) {
  Client client(file_);
  const AcquireOp held = client.Create("held");
  fs::rename(file_, With(".away"));
  EXPECT_EQ(OutcomeOf(client.Renew("held", held.request.grant.lock_id)).code, Errc::kRefused);
  fs::rename(With(".away"), file_);
  EXPECT_EQ(client.Renew("held", held.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(client.Release("held", held).status, OpStatus::kDone);
}

TEST_F(SqliteMovedFiles, StoresThatFollowOneAnotherHaveLogsOfTheirOwn) {
  for (int i = 0; i < 5; ++i) ExpectWorks();
  Client stays(file_);
  for (int i = 0; i < 5; ++i) ExpectWorks();
  EXPECT_EQ(stays.Create("1").status, OpStatus::kDone);
}

TEST_F(SqliteMovedFiles, AStoreThatIsOpenedMeanwhileStopsNoneOfThat) {
  Client client(file_);
  client.Insert("free");
  const AcquireOp held = client.Create("held");
  for (const std::string suffix : {"", "-wal", "-shm"})
    fs::rename(With(suffix), With(suffix + "2"));
  Client second(file_);
  EXPECT_EQ(second.Create("held").status, OpStatus::kDone) << "of a new file";
  ExpectAllRefused(client, held, "things.db ", "while it was open");
}

/// BEGIN waits for a program that does not know the coordinator.
TEST_F(SqliteMovedFiles, AFileThatGoesWhileAWriterWaitsIsRefused) {
  Client client(file_);
  const AcquireOp held = client.Create("held");
  std::optional<RawDatabase> foreign(file_);
  foreign->Run("BEGIN IMMEDIATE");
  Outcome outcome;
  std::jthread writer(
      [&] { outcome = OutcomeOf(client.Renew("held", held.request.grant.lock_id)); });
  std::this_thread::sleep_for(50ms);
  fs::rename(file_, With(".away"));
  foreign->Run("COMMIT");
  writer.join();
  EXPECT_EQ(outcome.code, Errc::kRefused) << outcome.text;
}

TEST_F(SqliteMovedFiles, ALogThatAForeignCheckpointTruncatesIsNoneTheWorse) {
  Client client(file_);
  const AcquireOp held = client.Create("held");
  for (int round = 0; round < 3; ++round) {
    RawDatabase(file_).Run("PRAGMA wal_checkpoint(TRUNCATE)");
    ASSERT_EQ(fs::file_size(With("-wal")), 0U);
    EXPECT_EQ(client.Renew("held", held.request.grant.lock_id).status, OpStatus::kDone);
    EXPECT_EQ(client.Read("held").status, OpStatus::kDone);
  }
}

TEST_F(SqliteMovedFiles, ADeletedCoordinatorFileLeavesLeasesAndSqlitesOwnLock) {
  DOCLOCK_NEEDS_COORDINATOR();
  Client client(file_);
  const AcquireOp held = client.Create("held");
  fs::remove(With("-doclock"));
  Client second(file_);
  EXPECT_EQ(second.Acquire("held").status, OpStatus::kBusy);
  EXPECT_EQ(client.Renew("held", held.request.grant.lock_id).status, OpStatus::kDone);
  EXPECT_EQ(second.Acquire("held").status, OpStatus::kBusy);
  EXPECT_EQ(client.Release("held", held).status, OpStatus::kDone);
  EXPECT_EQ(second.Acquire("held").status, OpStatus::kDone);
}

/// The exit status of what a child does in a mount namespace of its own; 77: it may not have one.
int InOwnMounts(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    if (::unshare(CLONE_NEWNS) != 0) ::_exit(77);
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(77);
    try {
      ::_exit(act());
    } catch (const std::exception& error) {
      std::cerr << error.what() << "\n";
      ::_exit(70);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(SqliteMovedFiles, AFileThatIsMountedByItselfIsRefused) {
  DOCLOCK_NEEDS_COORDINATOR();
  Client(file_).Insert("1");
  const fs::path volume = folder_ / "volume", alone = volume / "alone.db", all = folder_ / "all";
  fs::create_directory(volume);
  fs::create_directory(all);
  std::ofstream(alone).flush();
  const int status = InOwnMounts([&] {
    if (::mount(file_.c_str(), alone.c_str(), nullptr, MS_BIND, nullptr) != 0) return 77;
    if (::mount(folder_.path().c_str(), all.c_str(), nullptr, MS_BIND, nullptr) != 0) return 77;
    try {
      OpenSqliteStore(alone);
      return 1;
    } catch (const StoreException& error) {
      const std::string text = error.what();
      if (error.errc() != Errc::kRefused) return 2;
      if (text.find("alone.db is mounted by itself") == std::string::npos) return 3;
    }
    return Client(all / "things.db").Read("1").status == OpStatus::kDone ? 0 : 4;
  });
  if (status == 77) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_EQ(status, 0);
}

TEST_F(SqliteMovedFiles, AFullDiskRefusesNewLocksKeepsOldOnesAndRecovers) {
  DOCLOCK_NEEDS_COORDINATOR();
  const int status = InOwnMounts([&] {
    if (::mount("none", folder_.path().c_str(), "tmpfs", 0, "size=1m") != 0) return 77;
    Client client(file_);
    const AcquireOp held = client.Create("held");
    const fs::path ballast = folder_ / "ballast";
    std::ofstream(ballast) << std::string(2'000'000, 'x');
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
      const SaveOp op =
          client.Insert(std::to_string(i), R"({"a":")" + std::string(9000, 'x') + R"("})");
      if (op.status == OpStatus::kDone) continue;
      if (op.status != OpStatus::kFailed || op.detail->code != Errc::kUnavailable) return 1;
      if (client.Read(std::to_string(i)).status != OpStatus::kMissing) return 2;
      ++refused;
    }
    if (refused == 0) return 3;
    if (client.Read("held").status != OpStatus::kDone) return 4;
    try {
      OpenSqliteStore(folder_ / "second.db");
      return 5;
    } catch (const StoreException& error) {
      if (error.errc() != Errc::kUnavailable) return 6;
      if (std::string(error.what()).find("second.db") == std::string::npos) return 7;
    }
    fs::remove(ballast);
    return client.Release("held", held).status == OpStatus::kDone ? 0 : 8;
  });
  if (status == 77) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_EQ(status, 0);
}

TEST_F(SqliteMovedFiles, ATruncatedDatabaseIsAnErrorOfEachCall) {
  Client client(file_);
  client.Insert("free");
  const AcquireOp held = client.Create("held");
  fs::resize_file(file_, 0);
  for (const auto& [verb, outcome] : AllVerbs(client, held)) {
    if (outcome.status != OpStatus::kFailed) continue;
    EXPECT_TRUE(outcome.code == Errc::kRefused || outcome.code == Errc::kUnavailable)
        << verb << ": " << outcome.text;
  }
}

}  // namespace
}  // namespace doclock::sqlite_test
