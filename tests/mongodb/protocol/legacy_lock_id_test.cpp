/// A foreign program writes a held lock's id anew as a UUID of subtype 3, as old drivers do. The
/// server takes it for another id, so the lock is lost: nothing is told as done that was not.

#include <gtest/gtest.h>

#include <string_view>

#include "mongodb/bson/bson.h"
#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Doc;

class LegacyLockId : public ::testing::Test {
 protected:
  /// Only the subtype changes, not the bytes.
  void RewriteId(const Key& key, std::string_view field, const Uuid& id) {
    Doc legacy;
    mongodb::AddLegacyUuid(legacy, field, id);
    database_.Update("things", Doc::Of("_id", key), Doc::Of("$set", legacy));
  }
  AcquireOp Held(const Key& key) {
    AcquireOp op = things_.Acquire(key, NewUuid(), Counted(1));
    EXPECT_EQ(op.status, OpStatus::kDone) << Why(op);
    return op;
  }

  Database database_{SetUri()};
  Client things_{OpenMongodbStore(database_.uri())};
  const Key key_{"a"};
};

TEST_F(LegacyLockId, IsNotRenewed) {
  const Uuid id = Held(key_).request.grant.lock_id;
  RewriteId(key_, "lockId", id);
  const std::string before = database_.Stored();
  const RenewOp renewal = things_.Renew(key_, id);
  EXPECT_EQ(renewal.status, OpStatus::kLost) << Why(renewal);
  EXPECT_EQ(database_.Stored(), before);
}

TEST_F(LegacyLockId, IsNotRenewedAmongOthers) {
  const Key other("b");
  const Uuid id = Held(key_).request.grant.lock_id, good = Held(other).request.grant.lock_id;
  RewriteId(key_, "lockId", id);
  RenewOp spoilt = things_.RenewOf(key_, id), sound = things_.RenewOf(other, good);
  things_.Execute({&spoilt, &sound});
  EXPECT_EQ(spoilt.status, OpStatus::kLost) << Why(spoilt);
  EXPECT_EQ(sound.status, OpStatus::kDone) << Why(sound);
}

TEST_F(LegacyLockId, OfAShareIsNotRenewed) {
  const Uuid id = NewUuid(), other = NewUuid();
  ASSERT_EQ(things_.Share(key_, id, kMaxHolders, Counted(1)).status, OpStatus::kDone);
  ASSERT_EQ(things_.Share(key_, other).status, OpStatus::kDone);
  RewriteId(key_, "lockReaders.0.id", id);
  const std::string before = database_.Stored();
  const RenewOp renewal = things_.RenewShare(key_, id);
  EXPECT_EQ(renewal.status, OpStatus::kLost) << Why(renewal);
  EXPECT_EQ(database_.Stored(), before);
  EXPECT_EQ(things_.ReleaseShare(key_, id).status, OpStatus::kLost);
  EXPECT_EQ(things_.RenewShare(key_, other).status, OpStatus::kDone);
}

TEST_F(LegacyLockId, IsShownAsAnotherLock) {
  const AcquireOp held = Held(key_);
  const Uuid id = held.request.grant.lock_id;
  RewriteId(key_, "lockId", id);
  const ReadOp read = things_.Read(key_);
  EXPECT_TRUE(read.result.locked) << "it counts while its lease lasts";
  EXPECT_NE(read.result.lock_id, id);
  for (const WriteKind kind : {WriteKind::kCheckpoint, WriteKind::kRelease, WriteKind::kErase}) {
    const WriteOp write =
        things_.Write(key_, kind, id, {.expected = held.result.version, .body = Counted(2)});
    EXPECT_EQ(write.status, OpStatus::kLost) << Why(write);
  }
  EXPECT_EQ(things_.Acquire(key_, NewUuid()).status, OpStatus::kBusy);
}

}  // namespace
}  // namespace doclock::mongo_test
