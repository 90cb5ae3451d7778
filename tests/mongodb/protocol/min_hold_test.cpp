// A grant with a min_hold of a document that is missing takes two commands: one makes the document,
// one locks it. What others do in between is part of the grant.

#include <gtest/gtest.h>

#include <functional>

#include "mongodb/support/client.h"
#include "mongodb/support/monitored_pool.h"

namespace doclock::mongo_test {
namespace {

class MongoMinHold : public ::testing::Test {
 protected:
  /// Creates the document with {"n": 1}, and lets others act before the lock is granted.
  AcquireOp CreateWhile(const std::function<void()>& others) {
    pool_.BeforeNext("findAndModify", others);
    return watched_.Acquire(
        key_, {.id = NewUuid(), .insert = Counted(1), .min_hold = std::chrono::milliseconds(1)});
  }

  Database database_{SetUri()};
  MonitoredPool pool_{WithSocketTimeout(SetUri()), database_.name()};
  Client watched_{OpenMongodbStore(pool_.get(), database_.name())};
  Client other_{OpenMongodbStore(database_.uri())};
  const Key key_{"key"};
};

TEST_F(MongoMinHold, AGrantShowsWhatWasWrittenSinceItMadeTheDocument) {
  const AcquireOp grant = CreateWhile([&] {
    const ReadOp read = other_.Read(key_);
    ASSERT_EQ(
        other_.Save(SaveKind::kReplace, key_, read.result.version, read.result.born, Counted(2))
            .status,
        OpStatus::kDone);
  });
  ASSERT_EQ(grant.status, OpStatus::kDone) << Why(grant);
  EXPECT_TRUE(grant.result.created);
  EXPECT_EQ(grant.result.version, 2);
  EXPECT_EQ(grant.result.body.json(), Counted(2).json());
}

TEST_F(MongoMinHold, ADocumentThatOthersMadeAnewIsNotCreatedByTheGrant) {
  const AcquireOp grant = CreateWhile([&] {
    ASSERT_EQ(other_.Save(SaveKind::kErase, key_).status, OpStatus::kDone);
    ASSERT_EQ(other_.Save(SaveKind::kInsert, key_, 0, {}, Counted(3)).status, OpStatus::kDone);
  });
  ASSERT_EQ(grant.status, OpStatus::kDone) << Why(grant);
  EXPECT_FALSE(grant.result.created);
  EXPECT_EQ(grant.result.born, other_.Read(key_).result.born);
  EXPECT_EQ(grant.result.body.json(), Counted(3).json());
}

TEST_F(MongoMinHold, ALockThatOthersTookFirstIsBusy) {
  const AcquireOp grant =
      CreateWhile([&] { ASSERT_EQ(other_.Acquire(key_, NewUuid()).status, OpStatus::kDone); });
  EXPECT_EQ(grant.status, OpStatus::kBusy);
}

}  // namespace
}  // namespace doclock::mongo_test
