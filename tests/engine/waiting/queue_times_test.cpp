/// The times of a waiter in the store's queue, and how long a queue that was met is remembered.

#include <gtest/gtest.h>

#include <chrono>

#include "engine/calls/met_queues.h"
#include "engine/leases/probation.h"
#include "engine/waiting/queue_times.h"

namespace doclock::detail {
namespace {

using namespace std::chrono_literals;

TEST(QueueTimes, AWaiterAsksFourTimesWithinTheLeaseThatItWouldGet) {
  EXPECT_EQ(RefreshAfter(1s), 250ms);
  EXPECT_EQ(RefreshAfter(1h), kProbation / 4) << "its lease would be that of the probation";
  EXPECT_EQ(RefreshAfter(4ms), 1ms);
  EXPECT_EQ(RefreshAfter(1ms), 1ms) << "it does not ask without a pause";
}

TEST(QueueTimes, AnEntryOutlastsThreeAttempts) {
  EXPECT_EQ(EntryLength(1h), 3 * RefreshAfter(1h));
  EXPECT_EQ(EntryLength(100ms), 1s) << "a short pause of the process costs no place";
}

TEST(QueueTimes, AProbationIsNoLongerThanTheLease) {
  EXPECT_EQ(ProbationOf(1s), 1s);
  EXPECT_EQ(ProbationOf(1h), kProbation);
}

TEST(MetQueues, AQueueIsKnownForTwoSeconds) {
  const TimePoint met{1h};
  MetQueues queues;
  EXPECT_FALSE(queues.Knows(7, met));
  queues.Met(7, met);
  EXPECT_TRUE(queues.Knows(7, met + 2s - 1ns));
  EXPECT_FALSE(queues.Knows(7, met + 2s));
  EXPECT_FALSE(queues.Knows(8, met)) << "another document";
  queues.Met(7, met + 1s);
  EXPECT_TRUE(queues.Knows(7, met + 2s));
}

}  // namespace
}  // namespace doclock::detail
