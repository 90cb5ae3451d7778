#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/harness.h"
#include "process/fake_time.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// What an operator does when something is wrong, with the command alone.
class IncidentTest : public CliTest {};

TEST_F(IncidentTest, ALockThatNobodyReleasesIsFoundBrokenAndTakenOver) {
  Holding stuck(*this, {"--owner", "nightly", "--ttl", "3s", "job"});
  const Ended busy = Doclock({"run", "job", "--", "true"});
  EXPECT_EQ(busy.code, 75);
  EXPECT_THAT(busy.err, HasSubstr("nightly (")) << "it names the holder";
  const json shown = Json({"status", "--json", "job"});
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].at("pid"), stuck.pid()) << "whom to look after";
  EXPECT_EQ(Doclock({"doctor"}).code, 0) << "a long lock is no fault of the store";
  EXPECT_EQ(Doclock({"break", "--by", "operator", "job"}).code, 0);
  const Ended next =
      Doclock({"run", "--fence-env", "FENCE", "job", "--", "sh", "-c", "echo $FENCE"});
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_GT(std::stol(next.out), shown[0].at("fence").get<long>()) << "late work can be refused";
  EXPECT_EQ(stuck.Wait().code, 76) << "its command is ended";
  EXPECT_EQ(Json({"get", "--json", "doclock_locks", "job"}).at("broken").at("by"), "operator");
}

TEST_F(IncidentTest, AnExpiredLockGoesToItsWaiterAndItsFormerHolderEnds) {
  Holding holder(*this, {"--owner", "first", "--ttl", "500ms", "job"});
  holder.Signal(SIGSTOP);  // as a machine that hangs: it renews nothing
  std::filesystem::remove(folder / "here");
  Program waiter(Run({"--owner", "second", "--wait", "1m", "--ttl", "1h", "job"}, Staying()),
                 {store});
  ASSERT_TRUE(IsThere()) << "the lease ended, and the waiter was granted the lock";
  EXPECT_EQ(Json({"status", "--json", "job"})[0].at("owner"), "second");
  EXPECT_EQ(Json({"status", "--json", "--expired"}), json::array());
  EXPECT_EQ(Doclock({"doctor"}).code, 0) << "nothing is left over";
  holder.Signal(SIGCONT);
  EXPECT_EQ(holder.Wait().code, 76);
  EXPECT_EQ(Json({"status", "--json", "job"})[0].at("owner"), "second");
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(waiter.Wait().code, 0);
}

TEST_F(IncidentTest, AWallClockThatIsWrongTakesNoLockAway) {
  const auto library = test::FakeTimeLibrary();
  if (!library) GTEST_SKIP() << "libfaketime is not installed";
  Holding holder(*this, {"--owner", "me", "--ttl", "1m", "job"});
  for (const char* offset : {"+1d", "-1d"}) {
    const auto environment = test::FakeTime(*library, offset, store);
    EXPECT_EQ(Program(Command({"run", "job", "--", "true"}), environment).Wait().code, 75)
        << offset;
    const json shown =
        json::parse(Program(Command({"status", "--json", "job"}), environment).Wait().out);
    ASSERT_EQ(shown.size(), 1U) << offset;
    EXPECT_EQ(shown[0].at("expired"), false) << offset;
    EXPECT_LE(shown[0].at("remainingMs"), 60'000) << offset;
    EXPECT_LT(shown[0].at("ageMs"), 3'600'000) << offset;
  }
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(holder.Wait().code, 0);
}

/// A file system of four megabytes, which goes with the object.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    if (::mount("doclock-test", path_.c_str(), "tmpfs", 0, "size=4m") != 0) error_ = errno;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (error_ == 0) ::umount2(path_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] int error() const noexcept { return error_; }
  void Fill() const {
    std::ofstream stream(path_ + "/filler");
    const std::string block(4096, 'x');
    while (stream.write(block.data(), 4096).flush()) {
    }
  }
  void MakeRoom() const { std::filesystem::remove(path_ + "/filler"); }

 private:
  std::string path_;
  int error_ = 0;
};

TEST_F(IncidentTest, AFullDiskIsToldAsOneAndLosesNothing) {
  const SmallDisk disk(folder / "disk");
  if (disk.error() != 0) {
    GTEST_SKIP() << "no file system can be mounted: " << std::strerror(disk.error());
  }
  store = "DOCLOCK_STORE=sqlite:" + (folder / "disk") + "/locks.db";
  ASSERT_EQ(Doclock({"put", "sagas", "42"}, R"({"step":"new"})").code, 0);
  // The holder keeps the log open, as a program does.
  Holding holder(*this, {"--ttl", "1h", "job"});
  disk.Fill();
  const std::string large = R"({"step":")" + std::string(300'000, 'x') + "\"}";
  const Ended full = Doclock({"put", "sagas", "42"}, large);
  EXPECT_EQ(full.code, 69) << full.err;
  EXPECT_THAT(full.err, AnyOf(HasSubstr("full"), HasSubstr("No space"), HasSubstr("room")));
  EXPECT_EQ(Doclock({"doctor"}).code, 78);
  EXPECT_EQ(Found("disk").at("level"), "problem");
  EXPECT_EQ(Doclock({"get", "--json", "sagas", "42"}).out, "{\"step\":\"new\"}\n");
  disk.MakeRoom();
  EXPECT_EQ(Doclock({"put", "sagas", "42"}, large).code, 0);
  EXPECT_TRUE(IsHeld("job"));
  std::ofstream(folder / "go").put('x');
  EXPECT_EQ(holder.Wait().code, 0);
}

}  // namespace
}  // namespace doclock::cli_test
