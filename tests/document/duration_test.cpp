#include "doclock/time.h"

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

/// The standard library's traits do not know these.
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

TEST(DurationTest, LengthsOfMoreThan64BitsSaturateToo) {
  const auto far = static_cast<Int128>(1) << 100;
  const auto min = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ((Duration(Of<Int128, std::ratio<1>>(far))), Duration::Max());
  EXPECT_EQ((Duration(Of<Int128, std::ratio<1>>(-far))).count(), min);
  EXPECT_EQ((Duration(Of<Int128, std::nano>(-1))).count(), -1);
  EXPECT_EQ((Duration(Of<Int128, std::nano>(far >> 30))).count(), 1'180'591'620'717'412);
  EXPECT_EQ((Duration(Of<Uint128, std::milli>(~Uint128{0}))), Duration::Max());
  EXPECT_EQ((Duration(Of<Uint128, std::ratio<1>>(5))), Duration(5s));
}

TEST(DurationTest, UnitsThatDivideNothingEvenly) {
  using Odd = std::ratio<4'294'967'291, 4'294'967'279>;
  EXPECT_EQ((Duration(Of<std::int64_t, Odd>(4'294'967'278))).count(), 4'294'967'290'000);
  EXPECT_EQ((Duration(Of<std::int64_t, Odd>::max())), Duration::Max());
}

TEST(DurationTest, DecimalFractionsAreMeantAsWritten) {
  EXPECT_EQ(Duration(0.1s), Duration(100ms));
  EXPECT_EQ(Duration(-0.1s), Duration(-100ms));
  EXPECT_EQ((Duration(Of<float, std::ratio<1>>(0.3F))), Duration(300ms));
  EXPECT_EQ((Duration(Of<double, std::ratio<1>>(0.1 + 0.2))), Duration(300ms));
  EXPECT_EQ((Duration(Of<double, std::ratio<1>>(0.0015))), Duration(2ms));
  EXPECT_EQ((Duration(Of<double, std::nano>(1))), Duration(1ms));
  for (std::int64_t n = 1; n < 20'000; ++n) {
    const double seconds = static_cast<double>(n) / 1000;
    ASSERT_EQ((Duration(Of<double, std::ratio<1>>(seconds))).count(), n);
    ASSERT_EQ((Duration(Of<double, std::ratio<1>>(-seconds))).count(), -n);
    ASSERT_EQ((Duration(Of<double, std::ratio<60>>(static_cast<double>(n) / 60'000))).count(), n);
  }
}

TEST(DurationTest, FloatingPointSaturates) {
  using Milliseconds = Of<long double, std::milli>;
  EXPECT_EQ(Duration(Milliseconds(1e300L)), Duration::Max());
  EXPECT_EQ(Duration(Milliseconds(9'223'372'036'854'775'807.5L)), Duration::Max());
  EXPECT_EQ(Duration(Milliseconds(std::numeric_limits<long double>::infinity())), Duration::Max());
  EXPECT_LT(Duration(Milliseconds(std::numeric_limits<long double>::quiet_NaN())), Duration());
}

TEST(DurationTest, AMomentBeyondAllClocksIsWaitedForForEver) {
  EXPECT_EQ(detail::WaitOf(std::chrono::sys_seconds::max()), kForever);
  EXPECT_EQ(detail::WaitOf(std::chrono::sys_seconds::min()), Duration());
  EXPECT_GT(detail::WaitOf(std::chrono::steady_clock::time_point::max()), Duration(24h));
  EXPECT_EQ(detail::WaitOf(std::chrono::steady_clock::now() - 1s), Duration());
}

}  // namespace
}  // namespace doclock
