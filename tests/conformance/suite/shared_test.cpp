#include <set>
#include <vector>

#include "batch.h"
#include "store_conformance.h"

namespace doclock::conformance {
namespace {

/// Shared locks: every case that AcquireOp tells apart, and what else may meet shares.
class SharedLocks : public StoreConformance {
 protected:
  void SetUp() override { things_.Insert("42", {{"a", 1}}); }

  static AcquireOp Share(Client& client, AcquireArgs args = {}) {
    args.mode = LockMode::kShared;
    return client.Acquire("42", args);
  }
  AcquireOp Share(AcquireArgs args = {}) { return Share(things_, std::move(args)); }
  RenewOp Renew(const AcquireOp& share, std::chrono::milliseconds ttl = kTtl) {
    return things_.Renew("42", share.grant.lock_id, ttl, LockMode::kShared);
  }
  WriteOp Release(const AcquireOp& share) { return Release(things_, share.grant.lock_id); }
  static WriteOp Release(Client& client, const Uuid& id) {
    return client.Release("42", id, {.mode = LockMode::kShared});
  }
  std::vector<LockRow> List(const LockQuery& query = {}) { return things_.Locks(query); }
  /// The ids of live shares.
  std::set<Uuid> LiveShares(const LockQuery& query = {}) {
    std::set<Uuid> ids;
    for (const LockRow& row : List(query)) {
      if (!row.live) continue;
      EXPECT_EQ(row.mode, LockMode::kShared);
      EXPECT_TRUE(ids.insert(row.lock_id).second);
    }
    return ids;
  }
};

using Ids = std::set<Uuid>;

void ExpectRefused(const StoreOp& op) {
  EXPECT_EQ(op.status, OpStatus::kFailed);
  if (op.detail) {
    EXPECT_EQ(op.detail->code, Errc::kRefused);
  }
}

// Grants.

TEST_P(SharedLocks, AFreeLockIsShared) {
  const AcquireOp share = Share({.owner = "alice"});
  ASSERT_EQ(share.status, OpStatus::kDone);
  EXPECT_EQ(share.version, 2);
  EXPECT_FALSE(share.created);
  EXPECT_FALSE(share.took_over);
  EXPECT_EQ(share.body.json(), Json({{"a", 1}}));
  const ReadOp read = things_.Read("42");
  EXPECT_TRUE(read.locked);
  EXPECT_EQ(read.lock_id, kSharedLockId);
  EXPECT_EQ(read.version, share.version);
  EXPECT_EQ(read.born, share.born);
  EXPECT_EQ(read.holder.name, "alice");
  EXPECT_TRUE(clock().IsLeft(read.remaining, kTtl));
}

TEST_P(SharedLocks, AShareMayMakeTheDocument) {
  EXPECT_EQ(things_.Acquire("new", {.mode = LockMode::kShared}).status, OpStatus::kMissing);
  const AcquireOp share =
      things_.Acquire("new", {.insert = MakeBody({{"b", 2}}), .mode = LockMode::kShared});
  ASSERT_EQ(share.status, OpStatus::kDone);
  EXPECT_TRUE(share.created);
  EXPECT_EQ(share.version, 1);
  EXPECT_EQ(share.born, share.grant.lock_id);
  EXPECT_EQ(things_.Read("new").lock_id, kSharedLockId);
  EXPECT_EQ(things_.Read("new").body.json(), Json({{"b", 2}}));
  const AcquireOp second =
      things_.Acquire("new", {.insert = MakeBody({{"b", 3}}), .mode = LockMode::kShared});
  ASSERT_EQ(second.status, OpStatus::kDone);
  EXPECT_FALSE(second.created);
  EXPECT_EQ(second.version, 2);
  EXPECT_EQ(second.body.json(), Json({{"b", 2}}));
  EXPECT_EQ(things_.Acquire("new").status, OpStatus::kBusy);
}

TEST_P(SharedLocks, SharesStandBesideEachOther) {
  const AcquireOp first = Share();
  const AcquireOp second = Share();
  ASSERT_EQ(second.status, OpStatus::kDone);
  EXPECT_EQ(second.version, first.version + 1);
  EXPECT_FALSE(second.took_over);
  EXPECT_EQ(LiveShares(), (Ids{first.grant.lock_id, second.grant.lock_id}));
}

/// Nothing says how long it lasts: it is not free, and no one is told that it is held.
TEST_P(SharedLocks, AMalformedShareIsATypedErrorForWhoeverWantsTheLock) {
  if (!backend().spoil_share) GTEST_SKIP() << "a test cannot reach this store's shares";
  const auto expect_malformed = [](const StoreOp& op) {
    ASSERT_EQ(op.status, OpStatus::kFailed);
    EXPECT_EQ(op.detail->code, Errc::kMalformed);
  };
  Share();
  Share();
  backend().spoil_share("things", "42");
  expect_malformed(Share());
  expect_malformed(Share({.max_holders = 1}));
  expect_malformed(things_.Acquire("42"));
  expect_malformed(things_.Read("42"));
  clock().Advance(2 * kTtl);
  expect_malformed(Share());
  expect_malformed(things_.Acquire("42"));
  EXPECT_EQ(things_.Purge(), 0);
}

TEST_P(SharedLocks, SharesAreCountedAgainstTheLimitOfWhoAsks) {
  Share({.max_holders = 3});
  clock().Advance(5s);
  Share({.max_holders = 3});
  EXPECT_EQ(Share({.max_holders = 1}).status, OpStatus::kBusy);
  EXPECT_EQ(Share({.max_holders = 2}).status, OpStatus::kBusy);
  EXPECT_EQ(Share({.max_holders = 3}).status, OpStatus::kDone);
  const AcquireOp fourth = Share({.max_holders = 3});
  ASSERT_EQ(fourth.status, OpStatus::kBusy);
  ASSERT_TRUE(fourth.detail);
  EXPECT_TRUE(clock().IsLeft(fourth.detail->remaining, 25s));  // the first to end
  EXPECT_EQ(LiveShares().size(), 3U);
}

TEST_P(SharedLocks, OneOfALimitOfOneExcludesTheNext) {
  const AcquireOp first = Share({.owner = "alice", .max_holders = 1});
  const AcquireOp second = Share({.max_holders = 1});
  ASSERT_EQ(second.status, OpStatus::kBusy);
  EXPECT_EQ(second.detail->holder.name, "alice");
  EXPECT_TRUE(clock().IsLeft(second.detail->remaining, kTtl));
  EXPECT_EQ(Release(first).status, OpStatus::kDone);
  EXPECT_EQ(Share({.max_holders = 1}).status, OpStatus::kDone);
}

TEST_P(SharedLocks, AThousandShareAndNoMore) {
  constexpr int kTogether = 100;  // each write has all shares before it
  for (int i = 0; i < kMaxHolders; i += kTogether) {
    Batch batch(things_);
    std::vector<const AcquireOp*> shares;
    for (int j = 0; j < kTogether; ++j) {
      AcquireOp& share = batch.Acquire("42");
      share.grant.mode = LockMode::kShared;
      share.grant.ttl = 1h;
      shares.push_back(&share);
    }
    batch.Execute();
    for (const AcquireOp* const share : shares) ASSERT_EQ(share->status, OpStatus::kDone) << i;
  }
  EXPECT_EQ(Share().status, OpStatus::kBusy);
  EXPECT_EQ(LiveShares().size(), static_cast<std::size_t>(kMaxHolders));
  EXPECT_EQ(things_.Read("42").version, 1 + kMaxHolders);
}

TEST_P(SharedLocks, ALimitOutOfRangeIsRefused) {
  for (const int limit : {0, -1, kMaxHolders + 1}) ExpectRefused(Share({.max_holders = limit}));
  EXPECT_FALSE(things_.Read("42").locked);
  EXPECT_EQ(things_.Read("42").version, 1);
}

TEST_P(SharedLocks, AnExclusiveLockKeepsSharesOut) {
  const AcquireOp writer = things_.Acquire("42", {.owner = "bob"});
  const AcquireOp share = Share();
  ASSERT_EQ(share.status, OpStatus::kBusy);
  EXPECT_EQ(share.detail->holder.name, "bob");
  EXPECT_TRUE(clock().IsLeft(share.detail->remaining, kTtl));
  EXPECT_EQ(things_.Read("42").lock_id, writer.grant.lock_id);
  EXPECT_EQ(things_.Release("42", writer).status, OpStatus::kDone);
  EXPECT_EQ(Share().status, OpStatus::kDone);
}

TEST_P(SharedLocks, AShareTakesOverAnExpiredExclusiveLock) {
  const AcquireOp writer = things_.Acquire("42");
  clock().Advance(kTtl);
  const AcquireOp share = Share();
  ASSERT_EQ(share.status, OpStatus::kDone);
  EXPECT_TRUE(share.took_over);
  EXPECT_EQ(share.version, writer.version + 1);
  EXPECT_EQ(things_.Renew("42", writer.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", writer).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", writer.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(LiveShares(), Ids{share.grant.lock_id});
}

TEST_P(SharedLocks, SharesKeepAnExclusiveLockOutUntilTheLastEnds) {
  Share({.ttl = 60s, .owner = "alice"});
  Share({.ttl = 30s, .owner = "bob"});
  clock().Advance(10s);
  AcquireOp writer = things_.Acquire("42");
  ASSERT_EQ(writer.status, OpStatus::kBusy);
  EXPECT_TRUE(clock().IsLeft(writer.detail->remaining, 50s));
  EXPECT_TRUE(writer.detail->holder.name == "alice" || writer.detail->holder.name == "bob");
  clock().Advance(20s);
  writer = things_.Acquire("42");
  ASSERT_EQ(writer.status, OpStatus::kBusy);
  EXPECT_TRUE(clock().IsLeft(writer.detail->remaining, 30s));
  clock().Advance(30s);
  writer = things_.Acquire("42");
  ASSERT_EQ(writer.status, OpStatus::kDone);
  EXPECT_TRUE(writer.took_over);
  EXPECT_EQ(writer.version, 4);
}

TEST_P(SharedLocks, ARefusedAttemptChangesNothing) {
  const AcquireOp share = Share({.ttl = 60s, .max_holders = 1});
  things_.Acquire("42", {.ttl = 1h});
  Share({.ttl = 1h, .max_holders = 1});
  EXPECT_EQ(things_.Read("42").version, share.version);
  EXPECT_TRUE(clock().IsLeft(things_.Read("42").remaining, 60s));
  EXPECT_EQ(LiveShares(), Ids{share.grant.lock_id});
}

TEST_P(SharedLocks, WhenAllSharesAreOverTheLockIsAsFree) {
  const AcquireOp first = Share({.max_holders = 1});
  clock().Advance(kTtl);
  EXPECT_FALSE(things_.Read("42").locked);
  EXPECT_EQ(things_.Read("42").version, first.version);
  const AcquireOp second = Share({.max_holders = 1});
  ASSERT_EQ(second.status, OpStatus::kDone);
  EXPECT_FALSE(second.took_over);
  EXPECT_EQ(second.version, first.version + 1);
  EXPECT_EQ(LiveShares(), Ids{second.grant.lock_id});
}

TEST_P(SharedLocks, ExpiredSharesCountForNothing) {
  Share({.ttl = 10s, .max_holders = 2});
  const AcquireOp longer = Share({.ttl = 60s, .max_holders = 2});
  EXPECT_EQ(Share({.max_holders = 2}).status, OpStatus::kBusy);
  clock().Advance(10s);
  const AcquireOp third = Share({.max_holders = 2});
  EXPECT_EQ(third.status, OpStatus::kDone);
  EXPECT_EQ(Share({.max_holders = 2}).status, OpStatus::kBusy);
  EXPECT_EQ(LiveShares(), (Ids{longer.grant.lock_id, third.grant.lock_id}));
}

TEST_P(SharedLocks, AnExpiredShareNeitherRenewsNorReleases) {
  const AcquireOp share = Share({.ttl = 10s});
  const AcquireOp other = Share({.ttl = 60s});
  clock().Advance(10s);
  EXPECT_EQ(Renew(share).status, OpStatus::kLost);
  EXPECT_EQ(Release(share).status, OpStatus::kLost);
  EXPECT_EQ(LiveShares(), Ids{other.grant.lock_id});
  clock().Advance(50s);
  EXPECT_EQ(Renew(other).status, OpStatus::kLost);
  EXPECT_EQ(Release(other).status, OpStatus::kLost);
  EXPECT_FALSE(things_.Read("42").locked);
}

TEST_P(SharedLocks, MinHoldOfAShareShutsOutAllClients) {
  const AcquireOp share = Share({.ttl = 30s, .min_hold = 60s});
  EXPECT_EQ(share.status, OpStatus::kDone);
  const AcquireOp second = Share();
  ASSERT_EQ(second.status, OpStatus::kBusy);
  EXPECT_TRUE(clock().IsLeft(second.detail->remaining, 60s));
  EXPECT_EQ(Release(share).status, OpStatus::kDone);
  EXPECT_EQ(Share().status, OpStatus::kBusy);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kBusy);
  clock().Advance(60s);
  EXPECT_EQ(Share().status, OpStatus::kDone);
}

// Renewing and releasing.

TEST_P(SharedLocks, ARenewalIsOfOneShare) {
  const AcquireOp first = Share();
  const AcquireOp second = Share();
  clock().Advance(20s);
  EXPECT_EQ(Renew(first).status, OpStatus::kDone);
  EXPECT_TRUE(clock().IsLeft(things_.Read("42").remaining, kTtl));
  EXPECT_EQ(things_.Read("42").version, second.version);
  clock().Advance(10s);
  EXPECT_EQ(Renew(second).status, OpStatus::kLost);
  EXPECT_EQ(LiveShares(), Ids{first.grant.lock_id});
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kBusy);
  clock().Advance(20s);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(SharedLocks, ARenewalNeverEndsAShareSooner) {
  const AcquireOp share = Share({.ttl = 60s});
  EXPECT_EQ(Renew(share, 10s).status, OpStatus::kDone);
  clock().Advance(30s);
  EXPECT_EQ(LiveShares(), Ids{share.grant.lock_id});
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kBusy);
}

TEST_P(SharedLocks, ManySharesOfOneDocumentAreRenewedInOneBatch) {
  constexpr int kShares = 20;
  std::vector<AcquireOp> shares;
  for (int i = 0; i < kShares; ++i) shares.push_back(Share());
  clock().Advance(20s);
  const Key key("42");
  std::vector<RenewOp> renewals;
  renewals.reserve(kShares + 1);
  for (int i = 0; i <= kShares; ++i) renewals.emplace_back(things_.collection(), key);
  std::vector<StoreOp*> batch;
  Ids ids;
  for (std::size_t i = 0; i < renewals.size(); ++i) {
    renewals[i].mode = LockMode::kShared;
    renewals[i].ttl = kTtl;
    renewals[i].lock_id = i < shares.size() ? shares[i].grant.lock_id : FreshId();
    if (i < shares.size()) ids.insert(renewals[i].lock_id);
    batch.push_back(&renewals[i]);
  }
  std::swap(batch.front(), batch.back());  // the stranger first
  store().Execute(batch, kBudget);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    EXPECT_EQ(renewals[i].status, OpStatus::kDone) << i;
  }
  EXPECT_EQ(renewals.back().status, OpStatus::kLost);
  clock().Advance(20s);
  EXPECT_EQ(LiveShares(), ids);
}

TEST_P(SharedLocks, AReleaseOfAShareLeavesTheOthers) {
  const AcquireOp first = Share({.ttl = 60s});
  const AcquireOp second = Share({.ttl = 20s});
  const WriteOp release = Release(first);
  ASSERT_EQ(release.status, OpStatus::kDone);
  EXPECT_EQ(release.version, second.version);
  const ReadOp read = things_.Read("42");
  EXPECT_TRUE(read.locked);
  EXPECT_EQ(read.lock_id, kSharedLockId);
  EXPECT_EQ(read.version, second.version);
  EXPECT_TRUE(clock().IsLeft(read.remaining, 20s));  // of the share that is left
  EXPECT_EQ(LiveShares(), Ids{second.grant.lock_id});
  EXPECT_EQ(Renew(first).status, OpStatus::kLost);
  EXPECT_EQ(Release(first).status, OpStatus::kLost);
}

TEST_P(SharedLocks, TheLastReleaseFreesTheLock) {
  const AcquireOp first = Share();
  const AcquireOp second = Share();
  EXPECT_EQ(Release(first).status, OpStatus::kDone);
  EXPECT_EQ(Release(second).status, OpStatus::kDone);
  const ReadOp read = things_.Read("42");
  EXPECT_FALSE(read.locked);
  EXPECT_TRUE(read.lock_id.is_nil());
  EXPECT_EQ(read.released, second.grant.lock_id);
  EXPECT_EQ(read.version, second.version);
  EXPECT_TRUE(List().empty());
  const AcquireOp writer = things_.Acquire("42");
  ASSERT_EQ(writer.status, OpStatus::kDone);
  EXPECT_FALSE(writer.took_over);
  EXPECT_EQ(writer.version, second.version + 1);
}

TEST_P(SharedLocks, TheLastLiveReleaseFreesTheLock) {
  Share({.ttl = 10s});
  const AcquireOp longer = Share({.ttl = 60s});
  clock().Advance(10s);
  EXPECT_EQ(Release(longer).status, OpStatus::kDone);
  EXPECT_TRUE(things_.Read("42").lock_id.is_nil());
  EXPECT_FALSE(things_.Acquire("42").took_over);
}

TEST_P(SharedLocks, SharesLeaveTheBodyAlone) {
  const AcquireOp first = Share({.insert = MakeBody({{"a", 2}})});
  const AcquireOp second = Share();
  EXPECT_EQ(first.body.json(), Json({{"a", 1}}));
  EXPECT_EQ(Renew(first).status, OpStatus::kDone);
  EXPECT_EQ(Release(first).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 1}}));
  EXPECT_EQ(Release(second).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 1}}));
}

// Ids that hold nothing, and refused requests.

TEST_P(SharedLocks, AnUnknownShareIsLost) {
  const AcquireOp share = Share();
  for (const Uuid& id : {FreshId(), Uuid{}, kSharedLockId}) {
    EXPECT_EQ(things_.Renew("42", id, kTtl, LockMode::kShared).status, OpStatus::kLost);
    EXPECT_EQ(Release(things_, id).status, OpStatus::kLost);
  }
  EXPECT_EQ(LiveShares(), Ids{share.grant.lock_id});
  EXPECT_EQ(things_.Read("42").version, share.version);
  EXPECT_EQ(things_.Renew("none", FreshId(), kTtl, LockMode::kShared).status, OpStatus::kMissing);
  EXPECT_EQ(things_.Release("none", FreshId(), {.mode = LockMode::kShared}).status,
            OpStatus::kMissing);
}

TEST_P(SharedLocks, AShareOfAFreeLockIsLost) {
  EXPECT_EQ(things_.Renew("42", FreshId(), kTtl, LockMode::kShared).status, OpStatus::kLost);
  EXPECT_EQ(things_.Renew("42", Uuid{}, kTtl, LockMode::kShared).status, OpStatus::kLost);
  EXPECT_EQ(Release(things_, Uuid{}).status, OpStatus::kLost);
}

TEST_P(SharedLocks, TheIdOfSharedLocksHoldsNothing) {
  const AcquireOp share = Share();
  EXPECT_EQ(things_.Renew("42", kSharedLockId).status, OpStatus::kLost);
  for (const WriteKind kind : {WriteKind::kRelease, WriteKind::kCheckpoint, WriteKind::kErase}) {
    const WriteArgs args{.body = kind == WriteKind::kErase ? Body() : MakeBody({{"a", 2}})};
    EXPECT_EQ(things_.Write("42", kind, kSharedLockId, args).status, OpStatus::kLost);
  }
  EXPECT_EQ(LiveShares(), Ids{share.grant.lock_id});
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 1}}));
  EXPECT_EQ(Release(share).status, OpStatus::kDone);
  ExpectRefused(things_.Acquire("42", {.id = kSharedLockId}));
  ExpectRefused(Share({.id = kSharedLockId}));
  ExpectRefused(Share({.id = Uuid{}}));
  EXPECT_FALSE(things_.Read("42").locked);
}

TEST_P(SharedLocks, AShareIsNoExclusiveLockAndNoExclusiveLockAShare) {
  const AcquireOp share = Share();
  EXPECT_EQ(things_.Renew("42", share.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", share.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(things_.Write("42", WriteKind::kErase, share.grant.lock_id).status, OpStatus::kLost);
  EXPECT_EQ(Release(share).status, OpStatus::kDone);
  const AcquireOp writer = things_.Acquire("42");
  EXPECT_EQ(Renew(writer).status, OpStatus::kLost);
  EXPECT_EQ(Release(writer).status, OpStatus::kLost);
  EXPECT_EQ(things_.Release("42", writer).status, OpStatus::kDone);
}

TEST_P(SharedLocks, AShareOnlyReleasesWithNothingWritten) {
  const AcquireOp share = Share();
  const Uuid& id = share.grant.lock_id;
  const GrantRequest next{.lock_id = FreshId(), .ttl = kTtl};
  constexpr LockMode kShared = LockMode::kShared;
  ExpectRefused(things_.Write("42", WriteKind::kErase, id, {.mode = kShared}));
  ExpectRefused(things_.Write("42", WriteKind::kCheckpoint, id, {.mode = kShared}));
  ExpectRefused(things_.Release("42", id, {.body = MakeBody({{"a", 2}}), .mode = kShared}));
  ExpectRefused(things_.Release("42", id, {.expected = share.version, .mode = kShared}));
  ExpectRefused(things_.Release("42", id, {.next = &next, .mode = kShared}));
  EXPECT_EQ(LiveShares(), Ids{id});
  EXPECT_EQ(things_.Read("42").version, share.version);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 1}}));
}

TEST_P(SharedLocks, WhoEndsAShareMayLeaveANote) {
  const AcquireOp first = Share();
  const AcquireOp second = Share();
  const WriteArgs note{
      .body = MakeBody({{"broken", {{"by", "admin"}}}}), .merge = true, .mode = LockMode::kShared};
  const WriteOp one = things_.Release("42", first.grant.lock_id, note);
  ASSERT_EQ(one.status, OpStatus::kDone);
  EXPECT_EQ(one.version, second.version + 1);
  EXPECT_EQ(LiveShares(), Ids{second.grant.lock_id});
  EXPECT_EQ(things_.Read("42").version, one.version);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 1}, {"broken", {{"by", "admin"}}}}));
  const WriteOp other = things_.Release("42", second.grant.lock_id, note);
  ASSERT_EQ(other.status, OpStatus::kDone);
  EXPECT_EQ(other.version, one.version + 1);
  EXPECT_TRUE(things_.Read("42").lock_id.is_nil());
  EXPECT_EQ(things_.Release("42", second.grant.lock_id, note).status, OpStatus::kLost);
  EXPECT_EQ(things_.Read("42").version, other.version);
}

TEST_P(SharedLocks, NothingIsHandedOverToAShare) {
  const AcquireOp writer = things_.Acquire("42");
  const GrantRequest next{.lock_id = FreshId(), .ttl = kTtl, .mode = LockMode::kShared};
  ExpectRefused(things_.Release("42", writer.grant.lock_id, {.next = &next}));
  EXPECT_EQ(things_.Read("42").lock_id, writer.grant.lock_id);
  EXPECT_EQ(things_.Release("42", writer).status, OpStatus::kDone);
}

TEST_P(SharedLocks, TheNextDocumentIsNotTakenByAShare) {
  const Key unknown;
  Key key;
  AcquireOp op(things_.collection(), unknown);
  op.grant = {.lock_id = FreshId(), .ttl = kTtl, .mode = LockMode::kShared};
  store().AcquireNext(Filter(), op, key, kBudget);
  ExpectRefused(op);
  EXPECT_FALSE(things_.Read("42").locked);
}

// Other operations and shares.

TEST_P(SharedLocks, NoSaveSucceedsWhileItIsShared) {
  const AcquireOp share = Share({.owner = "alice"});
  const SaveOp save = things_.Replace("42", share.version, share.born, {{"a", 2}});
  ASSERT_EQ(save.status, OpStatus::kBusy);
  EXPECT_EQ(save.detail->holder.name, "alice");
  EXPECT_TRUE(clock().IsLeft(save.detail->remaining, kTtl));
  EXPECT_EQ(things_.Erase("42").status, OpStatus::kBusy);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"a", 1}}));
  EXPECT_EQ(Release(share).status, OpStatus::kDone);
  EXPECT_EQ(things_.Replace("42", share.version, share.born, {{"a", 2}}).status, OpStatus::kDone);
}

TEST_P(SharedLocks, ASaveClearsExpiredShares) {
  const AcquireOp share = Share();
  clock().Advance(kTtl);
  const SaveOp save = things_.Replace("42", share.version, share.born, {{"a", 2}});
  ASSERT_EQ(save.status, OpStatus::kDone);
  const ReadOp read = things_.Read("42");
  EXPECT_TRUE(read.lock_id.is_nil());
  EXPECT_EQ(read.released, save.write_id);
  EXPECT_TRUE(List().empty());
  EXPECT_EQ(Renew(share).status, OpStatus::kLost);
  EXPECT_EQ(Release(share).status, OpStatus::kLost);
  EXPECT_EQ(Share().status, OpStatus::kDone);
  EXPECT_EQ(LiveShares().size(), 1U);
}

TEST_P(SharedLocks, AnErasureTakesExpiredSharesAlong) {
  const AcquireOp share = Share();
  clock().Advance(kTtl);
  EXPECT_EQ(things_.Erase("42").status, OpStatus::kDone);
  EXPECT_EQ(Renew(share).status, OpStatus::kMissing);
  EXPECT_EQ(Release(share).status, OpStatus::kMissing);
  things_.Insert("42", {});
  EXPECT_TRUE(List().empty());
  EXPECT_EQ(Share({.max_holders = 1}).status, OpStatus::kDone);
}

TEST_P(SharedLocks, AnErasureByAHolderLeavesNothingOfFormerShares) {
  Share();
  clock().Advance(kTtl);
  const AcquireOp writer = things_.Acquire("42");
  EXPECT_EQ(things_.Write("42", WriteKind::kErase, writer.grant.lock_id).status, OpStatus::kDone);
  things_.Insert("42", {});
  EXPECT_EQ(Share({.max_holders = 1}).status, OpStatus::kDone);
  EXPECT_EQ(LiveShares().size(), 1U);
}

TEST_P(SharedLocks, ATakeOverDropsExpiredShares) {
  const AcquireOp share = Share();
  clock().Advance(kTtl);
  const AcquireOp writer = things_.Acquire("42");
  EXPECT_EQ(Renew(share).status, OpStatus::kLost);
  EXPECT_EQ(Release(share).status, OpStatus::kLost);
  const std::vector<LockRow> rows = List();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].mode, LockMode::kExclusive);
  EXPECT_EQ(things_.Release("42", writer).status, OpStatus::kDone);
  EXPECT_EQ(Share({.max_holders = 1}).status, OpStatus::kDone);
  EXPECT_EQ(LiveShares().size(), 1U);
}

TEST_P(SharedLocks, QueriesShowThemLocked) {
  things_.Insert("free", {{"a", 1}});
  Share();
  const Filter all = Filter().Equal("a", 1);
  EXPECT_EQ(things_.Query(Filter(all).Free()), std::vector<Key>{"free"});
  EXPECT_EQ(things_.Query(Filter(all).Locked()), std::vector<Key>{"42"});
  EXPECT_EQ(things_.AcquireNext(all).key, Key("free"));
  EXPECT_EQ(things_.AcquireNext(all).status, OpStatus::kMissing);
  clock().Advance(kTtl);
  EXPECT_EQ(things_.Query(Filter(all).Free()).size(), 2U);
}

TEST_P(SharedLocks, TheNextDocumentMayHaveBeenShared) {
  const AcquireOp share = Share({.ttl = 20s});
  EXPECT_EQ(things_.AcquireNext(Filter()).status, OpStatus::kMissing);
  clock().Advance(20s);
  const Client::Next next = things_.AcquireNext(Filter());
  ASSERT_EQ(next.status, OpStatus::kDone);
  EXPECT_TRUE(next.op.took_over);
  EXPECT_EQ(Renew(share).status, OpStatus::kLost);
  EXPECT_EQ(Share().status, OpStatus::kBusy);
}

TEST_P(SharedLocks, APurgeClearsThemWhenAllAreOver) {
  const AcquireOp first = Share({.ttl = 10s});
  const AcquireOp second = Share({.ttl = 60s});
  clock().Advance(10s);
  EXPECT_EQ(things_.Purge(), 0);
  EXPECT_EQ(LiveShares(), Ids{second.grant.lock_id});
  clock().Advance(50s);
  EXPECT_EQ(things_.Purge(), 1);
  EXPECT_EQ(things_.Purge(), 0);
  const ReadOp read = things_.Read("42");
  EXPECT_TRUE(read.lock_id.is_nil());
  EXPECT_EQ(read.version, second.version);
  EXPECT_TRUE(List().empty());
  EXPECT_EQ(Renew(first).status, OpStatus::kLost);
  EXPECT_EQ(Release(second).status, OpStatus::kLost);
}

TEST_P(SharedLocks, ABreakEndsThemAll) {
  const AcquireOp first = Share();
  const AcquireOp second = Share();
  things_.Break("42");
  const ReadOp read = things_.Read("42");
  EXPECT_TRUE(read.lock_id.is_nil());
  EXPECT_EQ(read.version, second.version);
  EXPECT_NE(read.released, second.grant.lock_id);
  for (const AcquireOp* share : {&first, &second}) {
    EXPECT_EQ(Renew(*share).status, OpStatus::kLost);
    EXPECT_EQ(Release(*share).status, OpStatus::kLost);
  }
  EXPECT_TRUE(List().empty());
  EXPECT_EQ(Share({.max_holders = 1}).status, OpStatus::kDone);
  EXPECT_EQ(LiveShares().size(), 1U);
}

TEST_P(SharedLocks, ExpireEndsTheLeasesOfAll) {
  const AcquireOp first = Share();
  const AcquireOp second = Share({.ttl = 1h});
  things_.Expire("42");
  EXPECT_FALSE(things_.Read("42").locked);
  EXPECT_EQ(things_.Read("42").version, second.version);
  EXPECT_EQ(Renew(first).status, OpStatus::kLost);
  EXPECT_EQ(Renew(second).status, OpStatus::kLost);
  EXPECT_TRUE(LiveShares().empty());
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(SharedLocks, AStrangerMayStealThem) {
  const AcquireOp share = Share();
  things_.Steal("42");
  const ReadOp read = things_.Read("42");
  EXPECT_TRUE(read.locked);
  EXPECT_NE(read.lock_id, kSharedLockId);
  EXPECT_EQ(read.version, share.version + 1);
  EXPECT_EQ(Renew(share).status, OpStatus::kLost);
  EXPECT_EQ(Release(share).status, OpStatus::kLost);
  EXPECT_EQ(Share().status, OpStatus::kBusy);
}

TEST_P(SharedLocks, EachShareIsListed) {
  const AcquireOp first = Share({.ttl = 60s, .owner = "alice"});
  clock().Advance(10s);
  const AcquireOp second = Share({.ttl = 20s, .owner = "bob"});
  std::vector<LockRow> rows = List();
  ASSERT_EQ(rows.size(), 2U);
  if (rows[0].lock_id != first.grant.lock_id) std::swap(rows[0], rows[1]);
  for (const LockRow& row : rows) {
    EXPECT_EQ(row.key, Key("42"));
    EXPECT_EQ(row.mode, LockMode::kShared);
    EXPECT_TRUE(row.live);
    EXPECT_TRUE(row.has_body);
    EXPECT_EQ(row.version, second.version);
    EXPECT_EQ(row.born, second.born);
  }
  EXPECT_EQ(rows[0].lock_id, first.grant.lock_id);
  EXPECT_EQ(rows[0].holder.name, "alice");
  EXPECT_EQ(rows[0].ttl, 60s);
  EXPECT_TRUE(clock().IsLeft(rows[0].left, 50s));
  EXPECT_EQ(rows[1].lock_id, second.grant.lock_id);
  EXPECT_EQ(rows[1].holder.name, "bob");
  EXPECT_EQ(rows[1].ttl, 20s);
  EXPECT_TRUE(clock().IsLeft(rows[1].left, 20s));
}

TEST_P(SharedLocks, SharesAreListedByKeyAndByGroup) {
  const AcquireOp first = Share({.group = "g"});
  const AcquireOp second = Share({.group = "h"});
  const AcquireOp third = Share({});
  things_.Create("other", {}, {.group = "g"});
  EXPECT_EQ(LiveShares({.key = Key("42")}),
            (Ids{first.grant.lock_id, second.grant.lock_id, third.grant.lock_id}));
  EXPECT_EQ(LiveShares({.key = Key("42"), .group = "h"}), Ids{second.grant.lock_id});
  const std::vector<LockRow> group = List({.group = "g"});
  EXPECT_EQ(group.size(), 2U);
  for (const LockRow& row : group) EXPECT_EQ(row.group, "g");
  EXPECT_EQ(Release(first).status, OpStatus::kDone);
  const std::vector<LockRow> rest = List({.group = "g"});
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].key, Key("other"));
}

INSTANTIATE_TEST_SUITE_P(Stores, SharedLocks, ::testing::ValuesIn(AllStores()), NameOf);

class SharedByTwoStores : public OnTwoStores<SharedLocks> {};

TEST_P(SharedByTwoStores, TheLimitIsOfBoth) {
  const AcquireOp first = Share({.max_holders = 2});
  const AcquireOp second = Share(*others_, {.max_holders = 2});
  ASSERT_EQ(second.status, OpStatus::kDone);
  EXPECT_EQ(Share({.max_holders = 2}).status, OpStatus::kBusy);
  EXPECT_EQ(Share(*others_, {.max_holders = 2}).status, OpStatus::kBusy);
  EXPECT_EQ(others_->Acquire("42").status, OpStatus::kBusy);
  EXPECT_EQ(Release(first).status, OpStatus::kDone);
  EXPECT_EQ(Share(*others_, {.max_holders = 2}).status, OpStatus::kDone);
  EXPECT_EQ(Share({.max_holders = 2}).status, OpStatus::kBusy);
}

TEST_P(SharedByTwoStores, AWaitingWriterKeepsTheOthersReadersOut) {
  if (!store().traits().queues) GTEST_SKIP() << "this store keeps no queue";
  const AcquireOp reader = Share();
  const AcquireArgs waits{.id = FreshId(), .queue_for = 30s};
  EXPECT_EQ(things_.Acquire("42", waits).status, OpStatus::kBusy);
  EXPECT_EQ(Share(*others_).status, OpStatus::kBusy);
  EXPECT_EQ(Release(reader).status, OpStatus::kDone);
  EXPECT_EQ(Share(*others_).status, OpStatus::kBusy);
  const AcquireOp writer = things_.Acquire("42", waits);
  ASSERT_EQ(writer.status, OpStatus::kDone);
  EXPECT_EQ(things_.Release("42", writer).status, OpStatus::kDone);
  EXPECT_EQ(Share(*others_).status, OpStatus::kDone);
}

TEST_P(SharedByTwoStores, AShareKeepsTheOthersWriterOut) {
  const AcquireOp reader = Share();
  EXPECT_EQ(others_->Acquire("42").status, OpStatus::kBusy);
  clock().Advance(20s);
  EXPECT_EQ(Renew(reader).status, OpStatus::kDone);
  clock().Advance(20s);
  EXPECT_EQ(others_->Acquire("42").status, OpStatus::kBusy);
  clock().Advance(10s);
  EXPECT_EQ(others_->Acquire("42").status, OpStatus::kDone);
  EXPECT_EQ(Release(reader).status, OpStatus::kLost);
}

INSTANTIATE_TEST_SUITE_P(Stores, SharedByTwoStores, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
