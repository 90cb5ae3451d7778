/// What a store remembers of the queues that it met. No server is needed.

#include "mongodb/client/queue_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace doclock::mongodb {
namespace {

TEST(QueueMemory, AQueueIsKnownOnceItWasMet) {
  QueueMemory memory;
  EXPECT_FALSE(memory.Knows(7));
  memory.Met(7);
  EXPECT_TRUE(memory.Knows(7));
  EXPECT_FALSE(memory.Knows(8)) << "another document";
}

TEST(QueueMemory, AGrantIsTakenOnce) {
  QueueMemory memory;
  const Uuid one = NewUuid(), two = NewUuid();
  memory.NoteGrant(one);
  memory.NoteGrant(two);
  EXPECT_FALSE(memory.TakeGrant(NewUuid()));
  EXPECT_TRUE(memory.TakeGrant(one));
  EXPECT_FALSE(memory.TakeGrant(one));
  EXPECT_TRUE(memory.TakeGrant(two));
}

/// Grants that no waiter asks for must not cost memory without end.
TEST(QueueMemory, TheOldestOfManyGrantsIsForgotten) {
  constexpr std::size_t kMost = 1024;
  QueueMemory memory;
  std::vector<Uuid> ids;
  for (std::size_t i = 0; i <= kMost; ++i) memory.NoteGrant(ids.emplace_back(NewUuid()));
  EXPECT_FALSE(memory.TakeGrant(ids[0]));
  EXPECT_TRUE(memory.TakeGrant(ids[1]));
  EXPECT_TRUE(memory.TakeGrant(ids[kMost]));
}

}  // namespace
}  // namespace doclock::mongodb
