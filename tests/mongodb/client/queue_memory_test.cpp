/// What a store remembers of the queues that it met. No server is needed.

#include "mongodb/client/queue_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
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

ToldGrant GrantOf(const Uuid& lock_id) {
  return {.lock_id = lock_id, .document = Doc::Of("lockId", lock_id)};
}

TEST(QueueMemory, AGrantIsTakenOnceWithItsDocument) {
  QueueMemory memory;
  const Uuid one = NewUuid(), two = NewUuid();
  memory.NoteGrant(GrantOf(one));
  memory.NoteGrant(GrantOf(two));
  EXPECT_FALSE(memory.TakeGrant(NewUuid()));
  const std::optional<ToldGrant> taken = memory.TakeGrant(one);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->lock_id, one);
  EXPECT_TRUE(bson_equal(taken->document.get(), Doc::Of("lockId", one).get()));
  EXPECT_FALSE(memory.TakeGrant(one));
  EXPECT_TRUE(memory.TakeGrant(two));
}

/// Grants that no waiter asks for must not cost memory without end.
TEST(QueueMemory, TheOldestOfManyGrantsIsForgotten) {
  constexpr std::size_t kMost = 1024;
  QueueMemory memory;
  std::vector<Uuid> ids;
  for (std::size_t i = 0; i <= kMost; ++i) memory.NoteGrant(GrantOf(ids.emplace_back(NewUuid())));
  EXPECT_FALSE(memory.TakeGrant(ids[0]));
  EXPECT_TRUE(memory.TakeGrant(ids[1]));
  EXPECT_TRUE(memory.TakeGrant(ids[kMost]));
}

TEST(QueueMemory, TheLatestGrantsKeepTheirDocuments) {
  constexpr std::size_t kMost = 64;
  QueueMemory memory;
  std::vector<Uuid> ids;
  for (std::size_t i = 0; i <= kMost; ++i) memory.NoteGrant(GrantOf(ids.emplace_back(NewUuid())));
  EXPECT_TRUE(memory.TakeGrant(ids[0])->document.empty());
  EXPECT_FALSE(memory.TakeGrant(ids[1])->document.empty());
  EXPECT_FALSE(memory.TakeGrant(ids[kMost])->document.empty());
}

TEST(QueueMemory, KnowsWhatAWaiterMetLast) {
  QueueMemory memory;
  const Uuid id = NewUuid(), born = NewUuid();
  EXPECT_FALSE(memory.LastMet(id));
  memory.NoteEntry({id, born, 7});
  memory.NoteEntry({NewUuid(), born, 9});
  memory.NoteEntry({id, born, 8});
  const auto met = memory.LastMet(id);
  ASSERT_TRUE(met);
  EXPECT_EQ(met->born, born);
  EXPECT_EQ(met->version, 8);
}

}  // namespace
}  // namespace doclock::mongodb
