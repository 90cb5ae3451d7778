/// Memory that runs out on the caller's thread before a verb has sent anything is std::bad_alloc.
/// On a thread of doclock it ends the process, whose locks end with their leases.

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "allocation/failing_new.h"
#include "doclock/doclock.h"
#include "doclock/open_store.h"
#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"

namespace doclock::allocation_test {
namespace {

using namespace std::chrono_literals;

struct Job {
  std::string id;
  int n = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Job, id, n)

class AllocationTest : public ::testing::Test {
 protected:
  AllocationTest() { jobs.Insert(Job{"a", 1}); }

  std::shared_ptr<testing::ManualClock> clock = std::make_shared<testing::ManualClock>();
  std::shared_ptr<testing::FaultyStore> store =
      std::make_shared<testing::FaultyStore>(OpenMemoryStore({.clock = clock}));
  LockManager manager{store, {.runtime = clock->runtime()}};
  LockingRepository<Job> jobs{manager, "jobs"};
};

TEST_F(AllocationTest, WhatFailsBeforeAnythingIsSentIsThrown) {
  store->Reset();
  FailingNew::FailAt(1);
  {
    const CodeUnderTest code;
    EXPECT_THROW((void)jobs.Lock("a, a key that stands in no string itself"), std::bad_alloc);
  }
  FailingNew::FailAt(1);
  {
    const CodeUnderTest code;
    EXPECT_THROW((void)jobs.LockAsync("a, a key that stands in no string itself"), std::bad_alloc);
  }
  FailingNew::Disarm();
  EXPECT_EQ(store->Calls(), 0);
  EXPECT_TRUE(jobs.TryLock("a"));
}

using AllocationDeathTest = AllocationTest;

TEST_F(AllocationDeathTest, OneOfARenewalEndsTheProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto held = jobs.Lock("a", {.ttl = 9s});
  EXPECT_DEATH(
      {
        FailingNew::FailAt(1);
        const CodeUnderTest code;
        clock->Advance(5s);
      },
      "");
}

/// The tests above would pass if nothing ever failed.
TEST(FailingNewTest, FailsWhatItIsToldTo) {
  FailingNew::FailAt(2);
  {
    const CodeUnderTest code;
    ::operator delete(::operator new(1));
    EXPECT_THROW(::operator delete(::operator new(1)), std::bad_alloc);
    ::operator delete(::operator new(1));
    const TestsOwnCode own;
    ::operator delete(::operator new(1));
  }
  EXPECT_TRUE(FailingNew::failed());
  FailingNew::Disarm();
}

TEST(FailingNewTest, SparesWhatDestroysJson) {
  std::optional<nlohmann::json> tree(nlohmann::json{{"a", {{"b", 1}}}});
  FailingNew::FailAt(1, 1000);
  {
    const CodeUnderTest code;
    tree.reset();
    EXPECT_THROW(::operator delete(::operator new(1)), std::bad_alloc);
  }
  FailingNew::Disarm();
}

}  // namespace
}  // namespace doclock::allocation_test
