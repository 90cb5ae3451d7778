// Collections of the MongoDB pessimistic locks for Java: what only they have (see layout_test.cpp).

#include <gtest/gtest.h>

#include <optional>

#include "mongodb/layouts/layout_fixture.h"
#include "mongodb/layouts/pessimistic_lock.h"
#include "mongodb/statements/stored_lock.h"
#include "rules/rules.h"

namespace doclock::mongo_test {
namespace {

using std::chrono::milliseconds;

class PessimisticLock : public LayoutTest {
 protected:
  PessimisticLock() : LayoutTest("pessimisticlock") {}
  PessimisticLockPeer& peer() { return static_cast<PessimisticLockPeer&>(*peer_); }
  std::int64_t Number(const char* field) {
    bson_iter_t at;
    return mongodb::FindField(*Document(), field, at) ? bson_iter_int64(&at) : 0;
  }
};

/// Is the lock of this owner, which ends at 10,000, live then?
bool IsLiveAt(std::int64_t now, const std::string& owner) {
  mongodb::Doc doc = FromJson(R"({"_id": "job", "ttlMs": {"$numberLong": "3000"},
                                  "expiresAt": {"$numberLong": "10000"}})");
  doc.Add("ownerId", owner);
  std::string bad_field;
  const auto lock = mongodb::PessimisticLockLayout().Read(*doc.get(), now, bad_field);
  EXPECT_EQ(bad_field, "");
  return lock.IsLive(mongodb::kLookedAt);
}

/// A lock of theirs is over half a second after its end: their clock may be behind. One of ours is
/// stored to end half a second after its lease, which its next holder of ours need not wait for.
TEST(PessimisticLockMargin, IsForTheirLocks) {
  const std::string owner = to_string(NewUuid());
  EXPECT_TRUE(IsLiveAt(10500, owner));
  EXPECT_FALSE(IsLiveAt(10501, owner));
  EXPECT_TRUE(IsLiveAt(9500, owner + "/7"));
  EXPECT_FALSE(IsLiveAt(9501, owner + "/7"));
}

/// A lock of ours ends half a second after its holder believes: their clock may be ahead.
TEST_F(PessimisticLock, OurLockEndsByTheMarginLater) {
  const AcquireOp held = Take(NewUuid(), milliseconds(100));
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_EQ(Number("ttlMs"), 1100);
  peer().Skew(milliseconds(499));
  const std::int64_t started = Number("expiresAt") - 600;
  std::optional<LockPeer::Held> theirs;
  while (!(theirs = peer_->TryAcquire("job", kTtl))) {
  }
  // By the server's clock.
  EXPECT_GE(Number("expiresAt") - 499 - kTtl.count() - started, 100);
}

/// Their time probe makes a document when the collection is empty.
TEST_F(PessimisticLock, TheSentinelIsNoLock) {
  EXPECT_NE(Stored().find("Used for $$NOW"), std::string::npos);
  ASSERT_EQ(Take().status, OpStatus::kDone);
  const LockPage page = locks_.store().ListLocks(locks_.collection(), {}, "", 10s);
  EXPECT_EQ(page.rows.size(), 1U);
}

/// Beats of a holder that has lost the lock, and is not told, extend its successor's by ttlMs. Its
/// estimate is as far behind as it may be, but for what this test's own clocks differ under load.
TEST_F(PessimisticLock, BeatsOfAStaleHolderDoNotEndOurs) {
  ASSERT_TRUE(peer_->TryAcquire("job", kTtl));
  Expire();
  const AcquireOp held = Take(NewUuid(), 2 * kTtl);
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  peer().Skew(50ms - mongodb::PessimisticLockLayout::kMargin);
  const std::int64_t granted = Number("expiresAt");
  for (int beat = 1; beat <= 10; ++beat) {
    EXPECT_EQ(peer().Beat("job"), 1);
    EXPECT_GE(Number("expiresAt"), granted);
    EXPECT_NO_THROW(peer_->ReadStrictly(*Document()));
  }
  EXPECT_EQ(peer().DeleteExpired(), 0);
  EXPECT_FALSE(peer_->TryAcquire("job", kTtl));
  // A longer lease is longer for the beats too.
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id, 10 * kTtl).status, OpStatus::kDone);
  const std::int64_t renewed = Number("expiresAt");
  EXPECT_EQ(peer().Beat("job"), 1);
  EXPECT_GE(Number("expiresAt"), renewed);
  EXPECT_EQ(locks_.Release(key_, held).status, OpStatus::kDone);
}

/// Nor do they let a dead holder's lock go.
TEST_F(PessimisticLock, BeatsOfAStaleHolderKeepADeadHoldersLock) {
  ASSERT_TRUE(peer_->TryAcquire("job", kTtl));
  Expire();
  ASSERT_EQ(Take().status, OpStatus::kDone);
  Expire();
  EXPECT_EQ(peer().Beat("job"), 1);
  EXPECT_EQ(Take().status, OpStatus::kBusy);
}

/// A beat between look and write is a holder that lives.
TEST_F(PessimisticLock, ABeatBetweenLookAndWriteIsNoticed) {
  ASSERT_TRUE(peer_->TryAcquire("job", kTtl));
  Expire();
  pool_.BeforeNext("update", [&] { peer().Beat("job"); });
  EXPECT_EQ(Take().status, OpStatus::kBusy);
}

/// Each tenth beat deletes what is over, and a vacant document with it.
TEST_F(PessimisticLock, TheirHousekeepingIsNoHolder) {
  pool_.BeforeNext("update", [&] { EXPECT_EQ(peer().DeleteExpired(), 1); });
  const AcquireOp held = Take();
  EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_EQ(peer().DeleteExpired(), 0);
  Expire();
  EXPECT_EQ(peer().DeleteExpired(), 1);
  EXPECT_EQ(locks_.Renew(key_, held.request.grant.lock_id).status, OpStatus::kMissing);
}

/// A lock object that has the lock extends it, and takes it if it was lost.
TEST_F(PessimisticLock, TheirsIsExtendedByItsOwner) {
  const auto theirs = peer_->TryAcquire("job", kTtl);
  ASSERT_TRUE(theirs);
  EXPECT_TRUE(peer_->Renew("job", *theirs, 2 * kTtl));
  EXPECT_EQ(Number("ttlMs"), (2 * kTtl).count());
  EXPECT_EQ(Take().status, OpStatus::kBusy);
  peer_->Release("job", *theirs);
  EXPECT_FALSE(Document());
}

/// A renewal that is decided over what a look shows leaves the margin too.
TEST_F(PessimisticLock, ARenewalInAUnitKeepsTheMargin) {
  const AcquireOp held = Take(NewUuid(), kTtl);
  ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
  const mongodb::PessimisticLockLayout layout;
  const auto seen = Document();
  const std::int64_t looked = Number("expiresAt") - kTtl.count() - 500;
  std::string bad_field;
  rules::LockState was = layout.Read(*seen, looked, bad_field), now = was;
  RenewOp renewal = locks_.RenewOf(key_, held.request.grant.lock_id);
  renewal.request.ttl = kTtl + milliseconds(100);  // less than what is stored
  rules::Renew(renewal, now, mongodb::kLookedAt, 0);
  ASSERT_EQ(renewal.status, OpStatus::kDone);
  const mongodb::Statement statement = layout.Change(key_, *seen, was, now);
  mongodb::Doc command = mongodb::Doc::Of("update", "locks");
  command.Add("updates", mongodb::Array().Add(statement.doc));
  database_.Run(command);
  EXPECT_EQ(Number("ttlMs"), renewal.request.ttl.count() + 1000);
}

/// An operator renews their lock by its owner's id, as any other.
TEST_F(PessimisticLock, AnOperatorRenewsTheirs) {
  const auto theirs = peer_->TryAcquire("job", kTtl);
  ASSERT_TRUE(theirs);
  const ReadOp shown = locks_.Read(key_);
  ASSERT_EQ(shown.status, OpStatus::kDone);
  EXPECT_EQ(locks_.Renew(key_, shown.result.lock_id, 10 * kTtl).status, OpStatus::kDone);
  EXPECT_EQ(mongodb::TextAt(*Document(), "ownerId"), theirs->lock_id);
  EXPECT_GT(Number("ttlMs"), 9 * kTtl.count());
}

}  // namespace
}  // namespace doclock::mongo_test
