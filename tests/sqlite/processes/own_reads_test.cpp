// The program reads the files of its own store, which drops the locks that SQLite holds for the
// process: no other program takes itself for the last one, and none loses anything.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

namespace fs = std::filesystem;

class SqliteOwnReads : public SqliteTest {
 protected:
  [[nodiscard]] fs::path With(const std::string& suffix) const { return file_.string() + suffix; }
  void Read(const std::string& suffix) const {
    std::ifstream file(With(suffix), std::ios::binary);
    EXPECT_TRUE(file.get() != EOF || suffix == "-wal");
  }
  /// Another program opens the file and closes it: with this library ("open"), or with SQLite alone
  /// ("begin").
  void OpenElsewhere(const std::string& how) const {
    Child other({how, file_.string()});
    const auto line = other.Line();
    EXPECT_EQ(line == "open", how == "open") << line.value_or("nothing");
    other.Wait();
  }
  static std::size_t Descriptors() {
    const fs::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
};

TEST_F(SqliteOwnReads, LoseNoLockToAProgramThatClosesTheFile) {
  DOCLOCK_NEEDS_COORDINATOR();
  for (const char* how : {"open", "begin"}) {
    for (const char* suffix : {"", "-wal", "-shm", "-doclock"}) {
      SCOPED_TRACE(std::string(how) + " after " + suffix);
      Client client(file_);
      const AcquireOp held = client.Create("1");
      ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
      Read(suffix);
      OpenElsewhere(how);
      EXPECT_TRUE(fs::exists(With("-wal")));
      const RenewOp renewed = client.Renew("1", held.request.grant.lock_id);
      EXPECT_EQ(renewed.status, OpStatus::kDone) << Why(renewed);
      const WriteOp released = client.Release("1", held);
      EXPECT_EQ(released.status, OpStatus::kDone) << Why(released);
    }
  }
}

TEST_F(SqliteOwnReads, KeepTheWritesOfThatTime) {
  DOCLOCK_NEEDS_COORDINATOR();
  constexpr int kRounds = 10;
  Client client(file_, {.sync = SqliteSync::kNormal});
  std::atomic<bool> over{false};
  std::atomic<int> written{0};
  std::thread writer([&] {
    for (int i = 0; !over; ++i) {
      const SaveOp op = client.Insert(i);
      EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
      if (op.status != OpStatus::kDone) break;
      ++written;
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    Read("");
    OpenElsewhere(i % 2 == 0 ? "open" : "begin");
  }
  over = true;
  writer.join();
  EXPECT_EQ(RawDatabase(file_).Number("SELECT count(*) FROM doclock_c_things"), written);
  EXPECT_EQ(RawDatabase(file_).Text("PRAGMA integrity_check"), "ok");
}

TEST_F(SqliteOwnReads, LeaveTheLogToTheLastThatCloses) {
  {
    Client client(file_);
    client.Create("1");
    Read("");
  }
  EXPECT_FALSE(fs::exists(With("-wal")));
  EXPECT_EQ(Client(file_).Read("1").status, OpStatus::kDone);
}

/// A store keeps a descriptor as long as closing it would drop locks of the program's own
/// connections to the file, and no longer.
TEST_F(SqliteOwnReads, StoresThatCloseDropNoLocksAndKeepNoDescriptors) {
  DOCLOCK_NEEDS_COORDINATOR();
  { Client client(file_); }
  const std::size_t before = Descriptors();
  {
    RawDatabase own(file_);
    own.Run("CREATE TABLE mine(a)");
    for (int i = 0; i < 20; ++i) Client(file_).Insert(i);
    EXPECT_LE(Descriptors(), before + 8);
    OpenElsewhere("begin");
    EXPECT_TRUE(fs::exists(With("-wal")));
    own.Run("INSERT INTO mine VALUES(1)");
  }
  { Client client(file_); }
  EXPECT_EQ(Descriptors(), before);
}

}  // namespace
}  // namespace doclock::sqlite_test
