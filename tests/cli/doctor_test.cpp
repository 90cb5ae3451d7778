
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/harness.h"
#include "sqlite/support/raw_database.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class DoctorTest : public CliTest {
 protected:
  void Sql(const std::string& sql) { sqlite_test::RawDatabase(folder / "locks.db").Run(sql); }
  std::set<std::string> Files() {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder / ".")) {
      names.insert(entry.path().filename());
    }
    return names;
  }
};

TEST_F(DoctorTest, LooksAtEverythingAndLeavesNoTrace) {
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
  const auto before = Files();
  const Ended well = Doclock({"doctor"});
  EXPECT_EQ(well.code, 0) << well.out << well.err;
  for (const char* check :
       {"open", "answer", "collection", "locks", "leftovers", "malformed", "server: SQLite",
        "topology", "schema: version 3", "coordinator: 1", "disk"}) {
    EXPECT_THAT(well.out, HasSubstr(std::string("ok       ") + check));
  }
  const Ended missing = Doclock({"-c", "typo", "doctor"});
  EXPECT_EQ(missing.code, 78);
  EXPECT_THAT(missing.out, HasSubstr("check its name: doclock collections"));
  EXPECT_EQ(Doclock({"collections"}).out, "doclock_locks\n");
  EXPECT_EQ(Files(), before);
}

TEST_F(DoctorTest, MakesNoCoordinatorFileAndChangesNoJournal) {
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
  std::filesystem::remove(folder / "locks.db-doclock");
  const Ended alone = Doclock({"doctor", "--json"});
  EXPECT_EQ(alone.code, 69);
  EXPECT_EQ(json::parse(alone.out).at(0).at("level"), "problem");
  EXPECT_THAT(alone.err, HasSubstr("coordinator"));
  EXPECT_EQ(Files(), std::set<std::string>{"locks.db"});
  ASSERT_EQ(Doclock({"status"}).code, 0);
  Sql("PRAGMA journal_mode=DELETE");
  EXPECT_THAT(Doclock({"doctor"}).err, HasSubstr("write-ahead log"));
  EXPECT_FALSE(Files().contains("locks.db-wal"));
}

TEST_F(DoctorTest, FindsALockThatExpired) {
  EXPECT_EQ(Doclock({"--store", "sqlite:/no/such/file.db", "doctor"}).code, 69);
  {
    Holding killed(*this, {"--ttl", "300ms", "job"});
    killed.Signal(SIGKILL);
    killed.Wait();
  }
  ASSERT_TRUE(Eventually([&] { return Doclock({"doctor"}).code == 78; }));
  EXPECT_EQ(Found("leftovers").at("level"), "warning");
  EXPECT_THAT(Found("leftovers").at("advice"), HasSubstr("doclock purge"));
  EXPECT_EQ(Doclock({"purge"}).code, 0);
  EXPECT_EQ(Doclock({"doctor"}).code, 0);
}

TEST_F(DoctorTest, NamesTheCollectionInWhatItAdvises) {
  {
    Holding killed(*this, {"-c", "accounts", "--ttl", "300ms", "job"});
    killed.Signal(SIGKILL);
    killed.Wait();
  }
  ASSERT_TRUE(Eventually([&] { return Doclock({"doctor", "-c", "accounts"}).code == 78; }));
  EXPECT_THAT(Doclock({"doctor", "-c", "accounts"}).out,
              HasSubstr("doclock purge -c 'accounts'\n"));
  EXPECT_EQ(Doclock({"purge", "-c", "accounts"}).code, 0);
  EXPECT_EQ(Doclock({"doctor", "-c", "accounts"}).code, 0);
}

TEST_F(DoctorTest, FindsAMalformedLock) {
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
  Sql("UPDATE doclock_l_doclock_locks SET lock_id = 'x'");
  EXPECT_EQ(Doclock({"doctor"}).code, 78);
  EXPECT_EQ(Found("malformed").at("level"), "problem");
}

TEST_F(DoctorTest, NamesAStoppedProcessThatKeepsTheOthersFromWriting) {
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
  std::string lines;
  for (int i = 0; i < 100'000; ++i)
    lines += R"({"key":")" + std::to_string(i) + "\",\"body\":{}}\n";
  Program writer(Command({"import", "sagas"}), {store}, lines);
  const std::string url = "sqlite:" + (folder / "locks.db") + "?busy_timeout_ms=200";
  const std::string name = "process " + std::to_string(writer.pid());
  Ended stuck;
  // It is stopped again and again, until that happens during one of its writes.
  ASSERT_TRUE(Eventually([&] {
    writer.Signal(SIGSTOP);
    stuck = Doclock({"--store", url, "doctor"});
    // Stopped while it opens the store it is not known by its number.
    if (stuck.code == 69 && stuck.out.find(name) != stuck.out.npos) return true;
    writer.Signal(SIGCONT);
    return writer.IsOver();
  }));
  ASSERT_FALSE(writer.IsOver()) << "it was never stopped at the right moment";
  EXPECT_THAT(stuck.out, HasSubstr("problem  open"));
  EXPECT_THAT(stuck.out, HasSubstr(name));
}

}  // namespace
}  // namespace doclock::cli_test
