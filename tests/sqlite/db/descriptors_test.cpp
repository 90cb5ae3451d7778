// A process that has no descriptors left is told so, loses nothing, and goes on when it has some.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "doclock/errors.h"
#include "sqlite/support/harness.h"

namespace doclock::sqlite_test {
namespace {

/// No descriptor can be opened while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &former_);
    // Those above the lowest free one stay open.
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), former_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &former_); }

 private:
  rlimit former_{};
};

TEST(SqliteDescriptors, AnOpenThatFindsNoneSaysSoAndMayBeRepeated) {
  const TempFolder folder;
  const auto file = folder / "things.db";
  { Client(file).Insert("1"); }
  {
    const NoDescriptors none;
    try {
      OpenSqliteStore(file);
      FAIL() << "it was opened";
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kUnavailable);
      EXPECT_NE(std::string(error.what()).find("open files"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(Client(file).Read("1").status, OpStatus::kDone);
}

TEST(SqliteDescriptors, AReadThatFindsNoneSaysSoAndTheLockStays) {
  const TempFolder folder;
  Client client(folder / "things.db");
  const AcquireOp held = client.Create("1");
  EXPECT_EQ(client.Read("1").status, OpStatus::kDone);
  {
    const NoDescriptors none;
    // The reader that is kept needs none; a second one at the same time does.
    client.store().Query(
        client.collection(), Filter(),
        [&](QueryRow&&) {
          const ReadOp second = client.Read("1");
          EXPECT_EQ(second.status, OpStatus::kFailed);
          EXPECT_EQ(second.detail->code, Errc::kUnavailable);
          EXPECT_NE(Why(second).find("RLIMIT_NOFILE"), std::string::npos) << Why(second);
          return true;
        },
        kBudget);
    EXPECT_EQ(client.Renew("1", held.request.grant.lock_id).status, OpStatus::kDone);
  }
  EXPECT_EQ(client.Read("1").status, OpStatus::kDone);
  EXPECT_EQ(client.Release("1", held).status, OpStatus::kDone);
}

}  // namespace
}  // namespace doclock::sqlite_test
