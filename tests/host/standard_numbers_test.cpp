// The descriptors 0 to 2 that the program has closed are taken for a while, and given back; what
// the program opens itself meanwhile is left alone.

#include "platform/standard_numbers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "process/temp_folder.h"

namespace doclock::host_test {
namespace {

using platform::StandardNumbersTaken;

bool IsOpen(int number) { return ::fcntl(number, F_GETFD) >= 0; }

/// Closes standard input, and gives it back.
class StandardNumbers : public ::testing::Test {
 protected:
  StandardNumbers() { ::close(0); }
  ~StandardNumbers() override {
    ::dup2(before_, 0);
    ::close(before_);
  }

 private:
  const int before_ = ::fcntl(0, F_DUPFD_CLOEXEC, 100);
};

#ifdef DOCLOCK_PLATFORM_IS_linux
TEST_F(StandardNumbers, AreTakenWhileAnyUserLives) {
  {
    const StandardNumbersTaken first;
    { const StandardNumbersTaken second; }
    EXPECT_TRUE(IsOpen(0));
  }
  EXPECT_FALSE(IsOpen(0));
}

TEST_F(StandardNumbers, AreAsClosedToTheProgram) {
  const StandardNumbersTaken taken;
  char byte = 0;
  EXPECT_EQ(::read(0, &byte, 1), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(StandardNumbers, AreTakenAgainAsOftenAsTheProgramClosesThem) {
  const StandardNumbersTaken first;
  for (int i = 0; i < 5; ++i) {
    ::close(0);
    const StandardNumbersTaken again;
    EXPECT_TRUE(IsOpen(0));
  }
}
#endif

TEST_F(StandardNumbers, ThatTheProgramHasOpenedAreNotClosed) {
  const test::TempFolder folder;
  const std::string own = folder / "own";
  struct Opened {
    const char* path;
    int flags;
  };
  for (const Opened& opened : {Opened{own.c_str(), O_RDWR | O_CREAT}, Opened{own.c_str(), O_PATH},
                               Opened{"/dev/null", O_RDWR}, Opened{"/dev/null", O_RDONLY},
                               Opened{"/dev/zero", O_RDONLY}}) {
    {
      const StandardNumbersTaken taken;
      ::close(0);
      ASSERT_EQ(::open(opened.path, opened.flags | O_CLOEXEC, 0600), 0);
    }
    EXPECT_TRUE(IsOpen(0)) << opened.path << ", flags " << opened.flags;
    ::close(0);
  }
}

}  // namespace
}  // namespace doclock::host_test
