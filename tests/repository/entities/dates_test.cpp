/// Dates and numbers beyond what a type can hold.

#include <limits>

#include "doclock/json/chrono.h"
#include "doclock/json/lock_fields.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

using std::chrono::sys_seconds;
using std::chrono::system_clock;
using ::testing::HasSubstr;

struct Contract {
  std::string id;
  int n = 0;
  system_clock::time_point until;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Contract, id, n, until)
struct Term {
  std::string id;
  sys_seconds until;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Term, id, until)
struct Day {
  std::string id;
  std::chrono::sys_time<std::chrono::duration<int, std::ratio<86400>>> until;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Day, id, until)

json DateOf(std::int64_t ms) { return {{"$date", {{"$numberLong", std::to_string(ms)}}}}; }
constexpr std::int64_t kYear9999 = 253'402'300'799'999;

class DatesTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(DatesTest);

TEST_P(DatesTest, ADateThatTheMemberCannotHoldIsRefusedByName) {
  const json stored = {{"n", 1}, {"until", DateOf(kYear9999)}};
  Put("1", stored);
  LockingRepository<Contract> contracts{manager, "sagas"};
  try {
    contracts.With("1", [](Contract& c) { ++c.n; });
    FAIL() << "it was read as another date";
  } catch (const DocumentException& error) {
    EXPECT_THAT(error.what(), HasSubstr("the member 'until'"));
  }
  EXPECT_EQ(Stored("1"), stored);
  Put("2", {{"until", DateOf(std::numeric_limits<std::int64_t>::max())}});
  const LockingRepository<Day> days{manager, "sagas"};
  EXPECT_THROW((void)days.Find("2"), DocumentException);
  const Day day{"3", decltype(Day::until)(std::chrono::duration<int, std::ratio<86400>>(20'000))};
  days.Insert(day);
  EXPECT_EQ(days.Find("3").value()->until, day.until);
  EXPECT_THROW((void)contracts.Find("2"), DocumentException);
}

TEST_P(DatesTest, TheEndOfATypeThatReachesBeyondDatesIsTheLastDate) {
  LockingRepository<Term> terms{manager, "terms"};
  for (const sys_seconds end : {sys_seconds::max(), sys_seconds::min(), sys_seconds(-1s)}) {
    terms.Erase("1");
    terms.Insert(Term{"1", end});
    EXPECT_EQ(terms.Find("1").value()->until, end);
    terms.With("1", [](Term&) {});
    EXPECT_EQ(terms.Find("1").value()->until, end);
  }
}

TEST_P(DatesTest, AFilterComparesWithWhatNoDateReaches) {
  Put("1", {{"t", Date::Now()}});
  LockingRepository<json> due{manager, "sagas"};
  EXPECT_EQ(due.Find(Filter{}.Less("t", sys_seconds::max())).size(), 1U);
  EXPECT_EQ(due.Find(Filter{}.Greater("t", sys_seconds::min())).size(), 1U);
  EXPECT_EQ(due.Find(Filter{}.Greater("t", sys_seconds::max())).size(), 0U);
  EXPECT_EQ(due.Find(Filter{}.AtMost("t", system_clock::time_point::max())).size(), 1U);
}

TEST(Dates, RoundDownAndNeverOverflow) {
  using Milliseconds = std::chrono::milliseconds;
  using std::chrono::duration;
  const auto ms = [](auto length) {
    return Date(std::chrono::sys_time<decltype(length)>(length)).time().time_since_epoch().count();
  };
  EXPECT_EQ(ms(std::chrono::nanoseconds(-1)), -1);
  EXPECT_EQ(ms(std::chrono::nanoseconds::min()), -9'223'372'036'855);
  EXPECT_EQ(ms(std::chrono::nanoseconds::max()), 9'223'372'036'854);
  EXPECT_EQ(ms(std::chrono::hours::max()), Milliseconds::max().count());
  EXPECT_EQ(ms(std::chrono::years(-1'000'000'000)), Milliseconds::min().count());
  EXPECT_EQ(ms(duration<std::uint64_t>(~0ULL)), Milliseconds::max().count());
  EXPECT_EQ(ms(duration<std::uint64_t, std::nano>(~0ULL)), 18'446'744'073'709);
  EXPECT_EQ(ms(duration<double>(1e300)), Milliseconds::max().count());
  EXPECT_EQ(ms(duration<double>(-1.0005)), -1001);
  EXPECT_THROW(ms(duration<double>(std::numeric_limits<double>::quiet_NaN())),
               std::invalid_argument);
}

TEST(Dates, DecimalFractionsAreMeantAsWritten) {
  using Time = std::chrono::sys_time<std::chrono::duration<double>>;
  for (const std::int64_t ms : {1L, 2L, 1001L, 4350L, 1'700'000'000'123L, -1L, -1001L}) {
    const Time time(Time::duration(static_cast<double>(ms) / 1000));
    EXPECT_EQ(Date(time).time().time_since_epoch().count(), ms);
    EXPECT_EQ(json(time).get<Time>(), time);
  }
}

TEST(Dates, KnowTimesOfMoreThan64Bits) {
  __extension__ using Int128 = __int128;
  using Nanoseconds = std::chrono::duration<Int128, std::nano>;
  using Time = std::chrono::sys_time<Nanoseconds>;
  EXPECT_EQ(Date(Time(Nanoseconds(-1))).time().time_since_epoch().count(), -1);
  EXPECT_EQ(Date(Time::max()).time(), Date::TimePoint::max());
  EXPECT_EQ(Date(Time::min()).time(), Date::TimePoint::min());
  const Time year9999(Nanoseconds(static_cast<Int128>(kYear9999) * 1'000'000));
  EXPECT_TRUE(json(Date(year9999)).get<Time>() == year9999);
}

TEST(LockFieldsJson, RefusesNumbersThatItCannotHold) {
  const json good = {{"id", nullptr}, {"time", nullptr}, {"version", 7}};
  EXPECT_EQ(good.get<LockFields>().version, 7);
  for (const json& version : {json(~0ULL), json(7.9), json(-1), json("7"), json(nullptr)}) {
    json bad = good;
    bad["version"] = version;
    EXPECT_THROW((void)bad.get<LockFields>(), std::invalid_argument) << version;
  }
  json late = good;
  late["time"] = DateOf(kYear9999);
  EXPECT_THROW((void)late.get<LockFields>(), std::invalid_argument);
}

TEST(DurationsJson, RefuseNumbersThatTheyCannotHold) {
  EXPECT_THROW((void)json(1e300).get<std::chrono::duration<float>>(), std::invalid_argument);
  EXPECT_THROW((void)json("1").get<std::chrono::duration<double>>(), std::invalid_argument);
  EXPECT_THROW((void)json(3'000'000'000).get<std::chrono::duration<int>>(), std::invalid_argument);
  EXPECT_EQ(json(1.5).get<std::chrono::duration<double>>().count(), 1.5);
}

}  // namespace
}  // namespace doclock
