// An open that is refused because of files that are missing or others changes none of them: once
// they are put back, everything that was acknowledged is there.

#include <fstream>
#include <iterator>
#include <list>
#include <map>

#include "doclock/errors.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

namespace fs = std::filesystem;

constexpr int kDocuments = 5;

/// All stores are those of other processes: this one reads the files, and closing a descriptor
/// drops the locks that SQLite has in the same process.
class SqliteRefusedOpen : public SqliteTest {
 protected:
  void SetUp() override {
    DOCLOCK_NEEDS_COORDINATOR();
    fs::create_directory(away_);
  }

  [[nodiscard]] fs::path With(const std::string& suffix) const { return file_.string() + suffix; }
  [[nodiscard]] fs::path Away(const std::string& suffix) const { return away_ / ("db" + suffix); }
  void MoveAway(const std::string& suffix) { fs::rename(With(suffix), Away(suffix)); }
  void PutBack(const std::string& suffix) { fs::rename(Away(suffix), With(suffix)); }

  Child Holder() {
    Child holder({"fill", file_.string(), std::to_string(kDocuments)});
    EXPECT_EQ(holder.Line(), "filled");
    EXPECT_GT(fs::file_size(With("-wal")), 0U);
    return holder;
  }
  /// The error of a process that opens the file.
  std::string Open(bool create) {
    std::vector<std::string> arguments{"open", file_.string()};
    if (!create) arguments.emplace_back("existing");
    return Child(arguments).Line().value_or("nothing");
  }

  using Bytes = std::map<std::string, std::string>;
  [[nodiscard]] Bytes BytesOf(std::initializer_list<const char*> suffixes) const {
    Bytes all;
    for (const char* suffix : suffixes) {
      std::ifstream in(With(suffix), std::ios::binary);
      if (in) all[suffix] = std::string(std::istreambuf_iterator<char>(in), {});
    }
    return all;
  }
  void ExpectRefusedAndUntouched(const std::string& because,
                                 std::initializer_list<const char*> suffixes = {"", "-wal", "-shm",
                                                                                "-journal"}) {
    const Bytes before = BytesOf(suffixes);
    for (const bool create : {true, false, true}) {
      const std::string told = Open(create);
      EXPECT_EQ(told.find("doclock: "), 0U) << "neither open nor transient: " << told;
      EXPECT_NE(told.find("things.db"), std::string::npos) << told;
      if (create) {
        EXPECT_NE(told.find(because), std::string::npos) << told;
      }
      EXPECT_TRUE(BytesOf(suffixes) == before) << "a file differs: " << told;
    }
  }
  void ExpectAllThere() {
    Client client(file_);
    for (int i = 0; i < kDocuments; ++i) {
      EXPECT_EQ(client.Read(std::to_string(i)).status, OpStatus::kDone) << i;
    }
    EXPECT_EQ(client.Insert("more").status, OpStatus::kDone);
    EXPECT_EQ(RawDatabase(file_).Text("PRAGMA integrity_check"), "ok");
  }

  fs::path away_ = folder_ / "away";
};

/// As a database called things.db-doclock would be.
TEST_F(SqliteRefusedOpen, AnotherFileInPlaceOfTheCoordinatorFileStaysAsItIs) {
  for (const bool exists : {false, true}) {
    for (const char* text : {"x", "SQLite format 3"}) {
      std::ofstream(With("-doclock")) << text;
      fs::permissions(With("-doclock"), fs::perms::owner_all);
      ExpectRefusedAndUntouched("things.db-doclock is another file", {"", "-wal", "-doclock"});
      EXPECT_EQ(fs::status(With("-doclock")).permissions(), fs::perms::owner_all);
      EXPECT_EQ(fs::exists(file_), exists);
      fs::remove(With("-doclock"));
    }
    Client(file_).Insert("1");
  }
}

/// The last connection to close deletes what has the log's name.
TEST_F(SqliteRefusedOpen, AStoreThatClosesLeavesTheLogThatTookThePlaceOfItsOwn) {
  { Client(file_).Insert("before"); }
  Child first({"fill", file_.string(), "1"});
  ASSERT_EQ(first.Line(), "filled");
  for (const char* suffix : {"-wal", "-shm", "-doclock"}) MoveAway(suffix);
  Child second = Holder();
  second.Say("end");
  EXPECT_EQ(second.Wait(), 0);
  first.Say("end");
  EXPECT_EQ(first.Wait(), 0);
  ExpectAllThere();
}

TEST_F(SqliteRefusedOpen, ALogWithoutItsDatabaseIsKept) {
  Holder().Kill();
  fs::remove(With("-doclock"));
  MoveAway("");
  ExpectRefusedAndUntouched("is missing, but its log");
  EXPECT_FALSE(fs::exists(file_));
  std::ofstream(file_).flush();
  ExpectRefusedAndUntouched("is empty, but its log");
  PutBack("");
  ExpectAllThere();
}

TEST_F(SqliteRefusedOpen, ADeadHolderKeepsNothing) {
  Holder().Kill();
  for (const char* suffix : {"", "-wal", "-shm"}) MoveAway(suffix);
  EXPECT_EQ(Open(true), "open") << "a new database";
  fs::remove(file_);
  for (const char* suffix : {"", "-wal", "-shm"}) fs::copy_file(Away(suffix), With(suffix));
  EXPECT_EQ(Open(false), "open");
  ExpectAllThere();
}

TEST_F(SqliteRefusedOpen, AHolderThatIsKilledLeavesEverything) {
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    const TempFolder folder;
    file_ = folder / "things.db";
    Holder().Kill();
    if (i == 1) fs::remove(With("-shm"));
    if (i == 2) fs::remove(With("-doclock"));
    EXPECT_EQ(Open(false), "open");
    ExpectAllThere();
  }
}

TEST_F(SqliteRefusedOpen, AStoreThatNeverFlushesIsRefusedBesideOthers) {
  const auto refusal = [this](SqliteSync sync) -> std::string {
    try {
      Client(file_, {.sync = sync});
      return "";
    } catch (const StoreException& error) {
      EXPECT_EQ(error.code(), Errc::kRefused);
      return error.what();
    }
  };
  for (const SqliteSync first : {SqliteSync::kFull, SqliteSync::kNormal, SqliteSync::kOff}) {
    const Client client(file_, {.sync = first});
    for (const SqliteSync other : {SqliteSync::kFull, SqliteSync::kNormal, SqliteSync::kOff}) {
      const bool differs = (first == SqliteSync::kOff) != (other == SqliteSync::kOff);
      EXPECT_EQ(refusal(other).find("is open elsewhere with sync=") != std::string::npos, differs);
    }
    SqliteStoreOptions to_look{.sync = SqliteSync::kFull};
    to_look.create = to_look.complete = false;
    EXPECT_NO_THROW(OpenSqliteStore(file_, to_look));
  }
}

TEST_F(SqliteRefusedOpen, AForeignDatabaseThatIsInUseIsOpened) {
  RawDatabase foreign(file_);
  foreign.Run("PRAGMA journal_mode=WAL; CREATE TABLE mine(a); INSERT INTO mine VALUES(1)");
  EXPECT_NE(Open(false).find("holds no tables of this library"), std::string::npos);
  EXPECT_EQ(Open(true), "open");
  EXPECT_EQ(foreign.Number("SELECT count(*) FROM mine"), 1);
}

TEST_F(SqliteRefusedOpen, StoresThatOpenAndCloseAllTheTimeRefuseNoOther) {
  std::list<Child> children;
  for (int i = 0; i < 3; ++i) {
    children.emplace_back(
        std::vector<std::string>{"reopen", file_.string(), std::to_string(Rounds(60))});
  }
  for (Child& child : children) ASSERT_EQ(child.Line(), "ready");
  for (Child& child : children) child.Say("go");
  for (Child& child : children) EXPECT_EQ(child.Line(), "done");
}

}  // namespace
}  // namespace doclock::sqlite_test
