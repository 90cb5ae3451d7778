// A system, a library or another program that the store cannot work with is refused at the opening,
// by name.

#include <gmock/gmock.h>

#include <string>

#include "sqlite/db/connection.h"
#include "sqlite/db/database_error.h"
#include "sqlite/support/harness.h"

#ifdef DOCLOCK_PLATFORM_IS_linux
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <thread>
#endif

namespace doclock::sqlite_test {
namespace {

using ::testing::HasSubstr;

TEST(SqliteMisfit, AnOlderSharedLibraryIsNamed) {
  EXPECT_NO_THROW(sqlite::CheckVersion(3'037'000));
  try {
    sqlite::CheckVersion(3'036'002);
    ADD_FAILURE() << "SQLite 3.36 is taken";
  } catch (const sqlite::DatabaseError& error) {
    EXPECT_THAT(error.what(), HasSubstr("SQLite 3.36; the store needs 3.37"));
  }
}

#ifdef DOCLOCK_PLATFORM_IS_linux
/// What opening the file throws.
std::string Refusal(const std::filesystem::path& file) {
  try {
    OpenSqliteStore(file);
  } catch (const StoreException& error) {
    return error.errc() == Errc::kRefused ? error.what()
                                          : std::string("not refused: ") + error.what();
  }
  return "it is opened";
}

TEST(SqliteMisfit, AProgramWithOtherMutexesIsToldWhatDiffers) {
  const TempFolder folder;
  const auto file = folder.path() / "a.db";
  const auto store = OpenSqliteStore(file);
  const int page = ::open((file.string() + "-doclock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(page, 0);
  constexpr off_t kMutexSize = 12;
  const std::uint32_t other = 4096;
  ASSERT_EQ(::pwrite(page, &other, sizeof other, kMutexSize), sizeof other);
  EXPECT_THAT(Refusal(file), HasSubstr("the other one has mutexes of 4096 bytes, here "));
  const std::uint32_t own = sizeof(pthread_mutex_t);
  ASSERT_EQ(::pwrite(page, &own, sizeof own, kMutexSize), sizeof own);
  ::close(page);
  EXPECT_EQ(Refusal(file), "it is opened");
}

/// Lets the system calls of this thread fail as those that an emulator does not have.
void TakeAwayRobustLists() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_get_robust_list, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(code), code};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(SqliteMisfit, ASystemWithoutRobustMutexesIsRefused) {
  const TempFolder folder;
  std::string said;
  std::thread([&] {
    TakeAwayRobustLists();
    said = Refusal(folder.path() / "a.db");
  }).join();
  EXPECT_THAT(said, HasSubstr("no robust mutexes"));
}
#endif

}  // namespace
}  // namespace doclock::sqlite_test
