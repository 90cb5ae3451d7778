#include "doclock/duration.h"

#include <gtest/gtest.h>

#include "doclock/named_mutex.h"

namespace doclock {
namespace {

using namespace std::chrono_literals;

template <class Rep, class Period>
using Of = std::chrono::duration<Rep, Period>;

TEST(DurationTest, UnsignedLengthsSaturateToo) {
  EXPECT_EQ((Duration(Of<std::uint64_t, std::milli>::max())), Duration::Max());
  EXPECT_EQ((Duration(Of<std::uint64_t, std::ratio<60>>::max())), Duration::Max());
  EXPECT_EQ((Duration(Of<std::uint32_t, std::ratio<3600>>::max())),
            Duration(std::chrono::hours(0xffff'ffff)));
  EXPECT_EQ((Duration(Of<std::uint64_t, std::nano>(1'000'001))), Duration(2ms)) << "rounds up";
  EXPECT_EQ((Duration(Of<std::uint64_t, std::nano>::max())).count(), 18'446'744'073'710);
}

TEST(DurationTest, PartsOfAMillisecondAreRoundedAwayFromZero) {
  EXPECT_EQ(Duration(1ns).count(), 1);
  EXPECT_EQ(Duration(-1ns).count(), -1);
  EXPECT_EQ(Duration(-1'000'001ns).count(), -2);
  EXPECT_EQ(Duration(-2ms).count(), -2);
  EXPECT_EQ((Duration(Of<double, std::milli>(-0.25))).count(), -1);
  EXPECT_EQ((Duration(Of<double, std::milli>(0.25))).count(), 1);
  EXPECT_EQ((Duration(Of<double, std::milli>(3.0))).count(), 3);
}

TEST(DurationTest, AMomentBeyondAllClocksIsWaitedForForEver) {
  EXPECT_EQ(detail::WaitOf(std::chrono::sys_seconds::max()), kForever);
  EXPECT_EQ(detail::WaitOf(std::chrono::sys_seconds::min()), Duration());
  EXPECT_GT(detail::WaitOf(std::chrono::steady_clock::time_point::max()), Duration(24h));
  EXPECT_EQ(detail::WaitOf(std::chrono::steady_clock::now() - 1s), Duration());
}

}  // namespace
}  // namespace doclock
