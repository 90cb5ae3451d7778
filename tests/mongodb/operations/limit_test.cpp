// The server's limits: what keeps within ours meets none of them, and what meets one is told which.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doclock/locking_repository.h"
#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

using ::testing::HasSubstr;

/// A body that has the most bytes, as BSON; with this letter.
Body Largest(char letter) {
  const std::size_t wrapping = nlohmann::json::to_bson({{"text", ""}}).size();
  return Body::FromJson({{"text", std::string(kMaxBodyBytes - wrapping, letter)}});
}

class MongoLimit : public ::testing::Test {
 protected:
  /// With the longest texts that a lock has.
  AcquireOp Longest(std::chrono::milliseconds queue_for) {
    AcquireOp op = things_.AcquireOf(
        key_, {.ttl = 10min, .group = std::string(256, 'g'), .queue_for = queue_for});
    LockHolder owner;
    owner.name = owner.host = std::string(256, 'o');
    op.request.grant.owner = std::make_shared<const LockHolder>(std::move(owner));
    things_.Execute(op);
    return op;
  }

  Database database_{SetUri()};
  const Key key_{std::string(1024, 'k')};
  Client things_{OpenMongodbStore(database_.uri()), "things", 1min};
};

TEST_F(MongoLimit, TheLargestBodyIsSavedAndReleasedWithAChangeBesideAFullQueue) {
  ASSERT_EQ(things_.Save(SaveKind::kInsert, key_, kAnyVersion, {}, Largest('a')).status,
            OpStatus::kDone);
  const AcquireOp held = Longest({});
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  constexpr int kMostWaiters = 64;
  for (int i = 0; i < kMostWaiters; ++i) {
    const AcquireOp waiter = Longest(10min);
    ASSERT_TRUE(waiter.result.queued) << i << ": " << Why(waiter);
  }
  WriteOp save = things_.WriteOf(key_, WriteKind::kCheckpoint, held.request.grant.lock_id);
  save.request.expected = save.request.fence = held.result.version;
  save.request.ttl = 10min;
  save.request.body = Largest('b');
  save.request.base = held.result.body;
  things_.Execute(save);
  ASSERT_EQ(save.status, OpStatus::kDone) << Why(save);
  const WriteOp release = things_.Release(key_, held.request.grant.lock_id,
                                          {.expected = save.result.version, .body = Largest('c')});
  EXPECT_EQ(release.status, OpStatus::kDone) << Why(release);
}

/// Another program may have stored a document that is larger than ours may be.
TEST_F(MongoLimit, ADocumentThatHasNoRoomForALockIsRefusedWithTheLimit) {
  mongodb::Doc document;
  document.Add("_id", "full").Add("text", std::string((16 << 20) - 40, 'x'));
  database_.Insert("things", document);
  const Key full("full");
  const AcquireOp op = things_.Acquire(full, NewUuid());
  ASSERT_EQ(op.status, OpStatus::kFailed) << Why(op);
  EXPECT_EQ(op.detail->code, Errc::kRefused);
  EXPECT_THAT(Why(op), HasSubstr("16 MiB"));
  const AcquireOp share = things_.Share(full, NewUuid());
  EXPECT_THAT(Why(share), HasSubstr("16 MiB"));
}

TEST_F(MongoLimit, OfIndexesIsNamed) {
  const LockManager manager(OpenMongodbStore(database_.uri()));
  const LockingRepository<nlohmann::json> things(manager, "indexed");
  try {
    for (int i = 0; i < 64; ++i) things.EnsureIndex({"f" + std::to_string(i)});
    ADD_FAILURE();
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
    EXPECT_THAT(error.what(), HasSubstr("at most 64 indexes"));
  }
}

TEST_F(MongoLimit, OfTheNameOfADatabaseIsNamed) {
  try {
    OpenMongodbStore(WithDatabase(SetUri(), std::string(64, 'd')));
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("1 to 63 bytes"));
  }
}

}  // namespace
}  // namespace doclock::mongo_test
