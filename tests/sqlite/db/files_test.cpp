// What is wrong with a file is said clearly when it is opened, or when it goes wrong later; and the
// store works again when the cause is gone.

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "doclock/errors.h"
#include "sqlite/support/harness.h"
#include "sqlite/support/load.h"
#include "sqlite/support/raw_database.h"

namespace doclock::sqlite_test {
namespace {

namespace fs = std::filesystem;

class SqliteFiles : public SqliteTest {
 protected:
  /// The error of OpenSqliteStore for the file.
  static std::string Refusal(const fs::path& file, SqliteStoreOptions options = {}) {
    options.busy_timeout = 300ms;
    try {
      OpenSqliteStore(file, options);
    } catch (const StoreException& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(file.filename().string()), std::string::npos) << text;
      return text;
    }
    return "none";
  }
  static void ExpectRefusal(const fs::path& file, const std::string& because,
                            SqliteStoreOptions options = {}) {
    const std::string text = Refusal(file, std::move(options));
    EXPECT_NE(text.find(because), std::string::npos) << text;
  }

  static void ExpectLocked(const StoreOp& op) {
    ASSERT_EQ(op.status, OpStatus::kFailed);
    EXPECT_EQ(op.detail->code, Errc::kUnavailable);
    EXPECT_NE(op.detail->message.find("locked"), std::string::npos) << Why(op);
  }
};

TEST_F(SqliteFiles, ADirectoryIsRefused) {
  fs::create_directory(file_);
  ExpectRefusal(file_, "is a directory");
  fs::remove(file_);
  ExpectWorks();
}

/// SQLite's own names of databases that are no file.
TEST_F(SqliteFiles, NamesOfDatabasesThatAreNoFileAreRefused) {
  const auto complaint = [](const fs::path& name) -> std::string {
    try {
      OpenSqliteStore(name);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_NE(complaint(":memory:").find("memory:"), std::string::npos);
  for (const char* name :
       {"file::memory:", "file:things.db", "file:///tmp/things.db?mode=memory"}) {
    EXPECT_NE(complaint(name).find("path"), std::string::npos) << name << ": " << complaint(name);
    EXPECT_FALSE(fs::exists(name));
  }
  EXPECT_NE(complaint(fs::path(file_.string() + std::string("\0x", 2))).find("zero byte"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_FALSE(fs::exists(":memory:"));
  EXPECT_EQ(Refusal(folder_ / ":memory:"), "none") << "a file in a folder is one";
}

TEST_F(SqliteFiles, AFileThatIsNoDatabaseIsRefusedAndLeftAlone) {
  const std::string garbage(5000, 'x');
  std::ofstream(file_) << garbage;
  ExpectRefusal(file_, "not a database");
  std::string now(garbage.size(), '\0');
  std::ifstream(file_).read(now.data(), static_cast<std::streamsize>(now.size()));
  EXPECT_EQ(now, garbage);
  fs::remove(file_);
  ExpectWorks();
}

TEST_F(SqliteFiles, AMissingFileIsMadeOnlyIfThatIsWanted) {
  ExpectRefusal(file_, "does not exist", {.create = false});
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_EQ(Client(file_).Create("1").status, OpStatus::kDone);
  EXPECT_EQ(Client(file_, {.create = false}).Read("1").status, OpStatus::kDone);
}

TEST_F(SqliteFiles, AFileOfAnotherUserIsLeftAloneUnlessOursMayBeMade) {
  RawDatabase(file_).Run("CREATE TABLE mine(a)");
  ExpectRefusal(file_, "holds no tables of this library", {.create = false});
  EXPECT_EQ(RawDatabase(file_).Text("PRAGMA journal_mode"), "delete");
  EXPECT_EQ(RawDatabase(file_).Number("SELECT count(*) FROM sqlite_master"), 1);
  EXPECT_FALSE(fs::exists(fs::path(file_) += "-doclock"));
}

TEST_F(SqliteFiles, AMissingCollectionIsMadeOnlyIfThatIsWanted) {
  Client(file_).Create("1");
  const auto count = [&] {
    return RawDatabase(file_).Number("SELECT count(*) FROM sqlite_master");
  };
  const std::int64_t before = count();
  const auto store = OpenSqliteStore(file_, {.create = false});
  EXPECT_THROW(store->Open("others", {}, 30s), NotFoundException);
  EXPECT_EQ(count(), before);
  EXPECT_EQ(store->Find("others"), nullptr);
  EXPECT_EQ(Client(store).Read("1").status, OpStatus::kDone);
  Client(OpenSqliteStore(file_), "others");
  EXPECT_NE(store->Open("others", {}, 30s), nullptr);
}

TEST_F(SqliteFiles, CollectionsMayBeCalledAsTheIndexesOfOthersWere) {
  for (const bool longer_first : {false, true}) {
    const fs::path file = folder_ / (longer_first ? "a.db" : "b.db");
    const auto store = OpenSqliteStore(file);
    Client one(store, longer_first ? "x_name" : "x");
    Client two(store, longer_first ? "x" : "x_name");
    EXPECT_EQ(one.Create("1").status, OpStatus::kDone);
    EXPECT_EQ(two.Create("1").status, OpStatus::kDone);
  }
}

TEST_F(SqliteFiles, AMissingDirectoryIsNamed) {
  ExpectRefusal(folder_ / "no/such/things.db", "no such directory");
}

TEST_F(SqliteFiles, APipeIsRefused) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  ExpectRefusal(file_, "not a regular file");
}

TEST_F(SqliteFiles, AFileWithTwoNamesIsRefused) {
  Client(file_).Create("1");
  fs::create_hard_link(file_, folder_ / "other.db");
  ExpectRefusal(folder_ / "other.db", "more than one name");
  fs::remove(folder_ / "other.db");
  EXPECT_EQ(Refusal(file_), "none");
}

TEST_F(SqliteFiles, AnotherUsersReadOnlyFileIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Client(file_).Create("1");
  fs::permissions(folder_.path(), fs::perms::all);
  fs::permissions(file_, fs::perms::owner_read | fs::perms::others_read);
  const auto try_as_nobody = [&] {
    Child other_user({"as", "65534", "open", file_.string()});
    return other_user.Line().value_or("nothing");
  };
  const std::string read_only = try_as_nobody();
  EXPECT_NE(read_only.find("things.db is read-only"), std::string::npos) << read_only;
  fs::permissions(file_, fs::perms::owner_read);
  const std::string forbidden = try_as_nobody();
  EXPECT_NE(forbidden.find("things.db"), std::string::npos) << forbidden;
  EXPECT_NE(forbidden.find("cannot be opened: "), std::string::npos) << forbidden;
  fs::permissions(file_, fs::perms::all);
  fs::remove(fs::path(file_) += "-doclock");  // was root's alone
  EXPECT_EQ(try_as_nobody(), "open");
}

TEST_F(SqliteFiles, ANewerSchemaIsRefused) {
  Client(file_).Create("1");
  RawDatabase(file_).Run("UPDATE doclock_meta SET value=99 WHERE name='schema'");
  ExpectRefusal(file_, "a newer version of this library (schema 99");
  RawDatabase(file_).Run("UPDATE doclock_meta SET value=3 WHERE name='schema'");
  EXPECT_EQ(Refusal(file_), "none");
}

TEST_F(SqliteFiles, AnOlderSchemaIsRefused) {
  Client(file_).Create("1");
  RawDatabase(file_).Run("UPDATE doclock_meta SET value=0 WHERE name='schema'");
  ExpectRefusal(file_, "an older version of this library (schema 0");
  RawDatabase(file_).Run("UPDATE doclock_meta SET value=3 WHERE name='schema'");
  ExpectWorks();
}

/// The table of locks stays where it is, or the triggers go with the table of documents.
TEST_F(SqliteFiles, ACollectionWhoseDocumentsAreDroppedOrRenamedByAShellIsMadeAnew) {
  for (const char* sql :
       {"DROP TABLE doclock_c_things", "ALTER TABLE doclock_c_things RENAME TO mine"}) {
    Client(file_).Create("1");
    RawDatabase(file_).Run(sql);
    Client client(file_);
    EXPECT_EQ(client.Read("1").status, OpStatus::kMissing) << sql;
    const AcquireOp held = client.Create("1");
    EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
    EXPECT_FALSE(held.result.took_over);
    RawDatabase(file_).Run("DELETE FROM doclock_c_things; DROP TABLE IF EXISTS mine");
    EXPECT_EQ(RawDatabase(file_).Number("SELECT count(*) FROM doclock_l_things"), 0);
  }
}

TEST_F(SqliteFiles, AnEraThatIsNoNumberIsRefused) {
  Client(file_).Create("1");
  RawDatabase shell(file_);
  const std::string era = shell.Text("SELECT value FROM doclock_meta WHERE name='era'");
  for (const char* value : {"'stone'", "-1", "1.5", "x'00'", "9223372036854775807"}) {
    shell.Run(std::string("UPDATE doclock_meta SET value=") + value + " WHERE name='era'");
    ExpectRefusal(file_, "the era in doclock_meta");
  }
  shell.Run("DELETE FROM doclock_meta WHERE name='era'");
  ExpectRefusal(file_, "the era in doclock_meta");
  shell.Run("INSERT INTO doclock_meta VALUES('era', " + era + ")");
  ExpectWorks();
}

TEST_F(SqliteFiles, AnotherEncodingIsRefused) {
  RawDatabase(file_).Run("PRAGMA encoding='UTF-16'; CREATE TABLE mine(a)");
  ExpectRefusal(file_, "UTF-16");
}

TEST_F(SqliteFiles, NetworkFileSystemsAreRefusedUnlessOneInsists) {
  DOCLOCK_NEEDS_COORDINATOR();
  // /proc stands for what is not in the list of local file systems.
  std::string text = "none";
  try {
    OpenSqliteStore("/proc/things.db");
  } catch (const StoreException& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("locks cannot be relied on"), std::string::npos) << text;
}

TEST_F(SqliteFiles, UnderAForeignWriterReadsWorkAndAllElseSaysThatItIsLocked) {
  Client client(file_, {.busy_timeout = 200ms});
  client.Insert("1", R"({"a":1})");
  const AcquireOp held = client.Create("2");
  client.Acquire("1", {.ttl = 1ms});  // something to purge
  ASSERT_EQ(client.Renew("2", held.request.grant.lock_id).status, OpStatus::kDone);
  const auto purge = [&] { return client.store().Purge(client.collection(), 100, 300ms); };
  const auto next = [&] { return client.AcquireNext(Filter().Equal("a", 1)).op; };
  RawDatabase foreign(file_);
  foreign.Run("BEGIN IMMEDIATE");
  ExpectLocked(next());
  ExpectLocked(client.Acquire("1"));
  ExpectLocked(client.Renew("2", held.request.grant.lock_id));
  ExpectLocked(client.Release("2", held));
  EXPECT_EQ(client.Query(Filter().Equal("a", 1)).size(), 1U);
  try {
    purge();
    ADD_FAILURE() << "purged";
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kUnavailable);
    EXPECT_NE(std::string(error.what()).find("locked"), std::string::npos) << error.what();
  }
  foreign.Run("COMMIT");
  EXPECT_EQ(client.Renew("2", held.request.grant.lock_id).status, OpStatus::kDone) << "still held";
  EXPECT_EQ(purge(), 1);
  EXPECT_EQ(next().status, OpStatus::kDone);
  EXPECT_EQ(client.Release("2", held).status, OpStatus::kDone);
}

TEST_F(SqliteFiles, AForeignWriterAtOpeningIsNamed) {
  RawDatabase foreign(file_);
  foreign.Run("CREATE TABLE mine(a); BEGIN EXCLUSIVE");
  ExpectRefusal(file_, "locked");
  foreign.Run("COMMIT");
  EXPECT_EQ(Refusal(file_), "none");
}

TEST_F(SqliteFiles, AShareThatDoesNotFitIsNotTold) {
  Client client(file_, {.sync = SqliteSync::kNormal, .max_pages = 60});
  Client others(file_);
  ASSERT_EQ(client.Share("one").status, OpStatus::kDone);
  const std::string page = R"({"text":")" + std::string(4000, 'x') + R"("})";
  for (int i = 0; client.Insert(std::to_string(i), page).status == OpStatus::kDone;) ++i;
  int refused = 0;
  for (int i = 0; i < 990 && refused < 3; ++i) {
    const AcquireOp share = client.Share("one");
    const bool there =
        others.RenewShare("one", share.request.grant.lock_id).status == OpStatus::kDone;
    ASSERT_EQ(share.status == OpStatus::kDone, there) << i << ": " << conformance::Why(share);
    refused += there ? 0 : 1;
  }
  EXPECT_EQ(refused, 3) << "the file was never full";
}

TEST_F(SqliteFiles, AFullDiskFailsWhatDoesNotFitAndNothingElse) {
  Client client(file_, {.sync = SqliteSync::kNormal, .max_pages = 60});
  client.Insert("small", R"({"text":"small"})");
  const std::string large = R"({"text":")" + std::string(400'000, 'x') + R"("})";

  const Key small_key("small"), large_key("large");
  AcquireOp fits = client.AcquireOf(small_key);
  AcquireOp too_large = client.AcquireOf(large_key, {.insert = Body::FromText(large)});
  client.Execute({&fits, &too_large});
  EXPECT_EQ(fits.status, OpStatus::kDone) << Why(fits);
  ASSERT_EQ(too_large.status, OpStatus::kFailed);
  EXPECT_NE(too_large.detail->message.find("full"), std::string::npos) << Why(too_large);
  EXPECT_EQ(client.Read("large").status, OpStatus::kMissing);

  const WriteOp too_long = client.Release("small", fits, Body::FromText(large));
  EXPECT_EQ(too_long.status, OpStatus::kFailed);
  EXPECT_TRUE(client.Read("small").result.locked) << "still held, to be mended or discarded";
  EXPECT_EQ(client.Release("small", fits).status, OpStatus::kDone);

  Client roomy(file_);
  EXPECT_EQ(roomy.Create("large", large).status, OpStatus::kDone);
}

TEST_F(SqliteFiles, SymbolicLinksLeadToTheSameGate) {
  Client client(file_);
  const AcquireOp held = client.Create("1");
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink(file_, folder_ / "elsewhere/alias.db");
  Client alias(folder_ / "elsewhere/alias.db");
  EXPECT_EQ(alias.Acquire("1").status, OpStatus::kBusy);
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere/alias.db-doclock"));
  EXPECT_EQ(alias.Release("1", held).status, OpStatus::kDone);
}

TEST_F(SqliteFiles, ASymbolicLinkMayLeadToAFileThatIsStillToBeMade) {
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink("../second.db", folder_ / "elsewhere/first.db");
  fs::create_symlink(file_.filename(), folder_ / "second.db");
  Client alias(folder_ / "elsewhere/first.db"), client(file_);
  const AcquireOp held = alias.Create("1");
  EXPECT_EQ(client.Acquire("1").status, OpStatus::kBusy);
  EXPECT_EQ(client.Release("1", held).status, OpStatus::kDone);
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere/first.db-doclock"));
  fs::create_symlink("circle.db", folder_ / "circle.db");
  ExpectRefusal(folder_ / "circle.db", "cannot be looked at");
}

TEST_F(SqliteFiles, AFileThatTheSystemDoesNotLetBeMadeIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::others_exec);
  Child other_user({"as", "65534", "open", file_.string()});
  const std::string told = other_user.Line().value_or("nothing");
  EXPECT_NE(told.find("things.db cannot be made: Permission denied"), std::string::npos) << told;
}

TEST_F(SqliteFiles, ANameThatIsTooLongIsRefused) {
  EXPECT_EQ(Refusal(folder_.path() / std::string(247, 'n')), "none");
  ExpectRefusal(folder_.path() / std::string(250, 'n'), "too long");
}

TEST_F(SqliteFiles, TheCoordinatorFileHasTheDatabasesMode) {
  DOCLOCK_NEEDS_COORDINATOR();
  RawDatabase(file_).Run("CREATE TABLE mine(a)");
  fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read |
                             fs::perms::group_write);
  Client client(file_);
  EXPECT_EQ(fs::status(file_).permissions(),
            fs::status(fs::path(file_) += "-doclock").permissions());
}

TEST_F(SqliteFiles, MembersOfAGroupShareTheCoordinatorFile) {
  DOCLOCK_NEEDS_COORDINATOR();
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  RawDatabase(file_).Run("CREATE TABLE mine(a)");
  constexpr gid_t kTeam = 64002;
  ASSERT_EQ(::chown(folder_.path().c_str(), 64001, kTeam), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0770), 0);
  ASSERT_EQ(::chown(file_.c_str(), 64001, kTeam), 0);
  ASSERT_EQ(::chmod(file_.c_str(), 0660), 0);
  for (const std::string user : {"64003", "64004", "64001", "64003"}) {
    Child member({"member", user, user, std::to_string(kTeam), "open", file_.string()});
    EXPECT_EQ(member.Line(), "open") << user;
  }
  const fs::path coordinator = fs::path(file_) += "-doclock";
  struct stat status {};
  ASSERT_EQ(::stat(coordinator.c_str(), &status), 0);
  EXPECT_EQ(status.st_gid, kTeam);
  EXPECT_EQ(status.st_mode & 0777, 0660U);
  // One that is for one member alone: its owner mends it.
  ASSERT_EQ(::chown(coordinator.c_str(), 64003, 64003), 0);
  Child other({"member", "64004", "64004", std::to_string(kTeam), "open", file_.string()});
  EXPECT_NE(other.Line().value_or("").find("-doclock"), std::string::npos);
  Child owner({"member", "64003", "64003", std::to_string(kTeam), "open", file_.string()});
  EXPECT_EQ(owner.Line(), "open");
  Child again({"member", "64004", "64004", std::to_string(kTeam), "open", file_.string()});
  EXPECT_EQ(again.Line(), "open");
}

}  // namespace
}  // namespace doclock::sqlite_test
