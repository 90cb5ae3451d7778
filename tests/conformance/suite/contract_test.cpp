#include <array>

#include "store_conformance.h"

// Rules of store.h that stores tend to read differently.

namespace doclock::conformance {
namespace {

const std::string kBadText = "\xC3(";

void ExpectFailed(const StoreOp& op, Errc code) {
  ASSERT_EQ(op.status, OpStatus::kFailed);
  ASSERT_TRUE(op.detail);
  EXPECT_EQ(op.detail->code, code) << op.detail->message;
}

GrantRequest NextGrant(std::chrono::milliseconds min_hold = 0ms) {
  GrantRequest next;
  next.lock_id = FreshId();
  next.ttl = kTtl;
  next.min_hold = min_hold;
  return next;
}

class Contract : public StoreConformance {
 protected:
  Contract() : neighbour_(things_.collection(), neighbour_key_) {}

  /// Beside another one, as a store may treat lone operations differently.
  void RunInCompany(StoreOp& op) {
    neighbour_.save = SaveKind::kInsert;
    neighbour_.write_id = FreshId();
    neighbour_.body = MakeBody({});
    const std::array<StoreOp*, 2> batch{&neighbour_, &op};
    store().Execute(batch, kBudget);
    EXPECT_EQ(neighbour_.status, OpStatus::kDone);
  }
  void RunAlone(StoreOp& op) {
    const std::array<StoreOp*, 1> batch{&op};
    store().Execute(batch, kBudget);
  }
  SaveOp Save(const Key& key, SaveKind kind, Body body = {}) {
    SaveOp op(things_.collection(), key);
    op.save = kind;
    op.write_id = FreshId();
    op.body = std::move(body);
    return op;
  }

 private:
  const Key neighbour_key_ = "neighbour";
  SaveOp neighbour_;
};

TEST_P(Contract, TheNextDocumentIsNotGrantedUnderAnIdThatHoldsNothing) {
  things_.Insert("42", {});
  for (const Uuid& id : {Uuid{}, kSharedLockId}) {
    const Key unknown;
    Key key;
    AcquireOp op(things_.collection(), unknown);
    op.grant.lock_id = id;
    op.grant.ttl = kTtl;
    store().AcquireNext(Filter(), op, key, kBudget);
    ExpectFailed(op, Errc::kRefused);
  }
  EXPECT_EQ(things_.Read("42").version, 1);
}

TEST_P(Contract, NothingIsHandedOverUnderAnIdThatHoldsNothing) {
  const Key key("42");
  const AcquireOp grant = things_.Create(key);
  for (const Uuid& id : {Uuid{}, kSharedLockId, grant.grant.lock_id}) {
    GrantRequest next = NextGrant();
    next.lock_id = id;
    const WriteArgs args{.expected = 1, .next = &next};
    ExpectFailed(things_.Release(key, grant.grant.lock_id, args), Errc::kRefused);
  }
  GrantRequest nil = NextGrant();
  nil.lock_id = {};
  WriteOp op(things_.collection(), key);
  op.lock_id = grant.grant.lock_id;
  op.expected = 1;
  op.next = &nil;
  RunInCompany(op);
  ExpectFailed(op, Errc::kRefused);
  EXPECT_EQ(things_.Read(key).lock_id, grant.grant.lock_id);
}

TEST_P(Contract, OnlyAReleaseHandsOver) {
  const AcquireOp grant = things_.Create("42");
  const GrantRequest next = NextGrant();
  const WriteArgs args{.expected = 1, .next = &next};
  for (const WriteKind kind : {WriteKind::kCheckpoint, WriteKind::kErase}) {
    ExpectFailed(things_.Write("42", kind, grant.grant.lock_id, args), Errc::kRefused);
  }
  EXPECT_EQ(things_.Read("42").version, 1);
}

TEST_P(Contract, AHandOverNeverShortensMinHold) {
  const AcquireOp first = things_.Create("42", {}, {.min_hold = 60s});
  const GrantRequest next = NextGrant(1s);
  ASSERT_EQ(things_.Release("42", first.grant.lock_id, {.expected = 1, .next = &next}).status,
            OpStatus::kDone);
  ASSERT_EQ(things_.Release("42", next.lock_id).status, OpStatus::kDone);
  clock().Advance(30s);
  const AcquireOp early = things_.Acquire("42");
  ASSERT_EQ(early.status, OpStatus::kBusy);
  EXPECT_TRUE(clock().IsLeft(early.detail->remaining, 30s));
  clock().Advance(30s);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kDone);
}

TEST_P(Contract, AHandOverMayProlongMinHold) {
  const AcquireOp first = things_.Create("42", {}, {.min_hold = 30s});
  const GrantRequest next = NextGrant(60s);
  things_.Release("42", first.grant.lock_id, {.expected = 1, .next = &next});
  things_.Release("42", next.lock_id);
  clock().Advance(30s);
  EXPECT_EQ(things_.Acquire("42").status, OpStatus::kBusy);
}

TEST_P(Contract, AHandOverLeavesTheMarkItIsGiven) {
  const Key key("42");
  const AcquireOp first = things_.Create(key);
  const GrantRequest next = NextGrant();
  WriteOp op(things_.collection(), key);
  op.lock_id = first.grant.lock_id;
  op.expected = 1;
  op.next = &next;
  op.release_id = FreshId();
  RunAlone(op);
  ASSERT_EQ(op.status, OpStatus::kDone);
  EXPECT_EQ(things_.Read(key).released, op.release_id);
}

TEST_P(Contract, BusyLastsUntilLeaseAndMinHoldAreOver) {
  things_.Create("42", {}, {.min_hold = 60s});
  const AcquireOp writer = things_.Acquire("42");
  ASSERT_EQ(writer.status, OpStatus::kBusy);
  EXPECT_TRUE(clock().IsLeft(writer.detail->remaining, 60s));
  const AcquireOp reader = things_.Acquire("42", {.mode = LockMode::kShared});
  ASSERT_EQ(reader.status, OpStatus::kBusy);
  EXPECT_TRUE(clock().IsLeft(reader.detail->remaining, 60s));
  // min_hold keeps no save out.
  const SaveOp erase = things_.Erase("42");
  ASSERT_EQ(erase.status, OpStatus::kBusy);
  EXPECT_TRUE(clock().IsLeft(erase.detail->remaining, 30s));
}

TEST_P(Contract, BusyWithSharesLastsUntilMinHoldIsOverToo) {
  for (const auto& [key, min_hold, left] :
       {std::tuple{"longer", 60s, 60s}, std::tuple{"shorter", 10s, 30s}}) {
    things_.Create(key, {}, {.min_hold = min_hold, .mode = LockMode::kShared});
    const AcquireOp writer = things_.Acquire(key);
    ASSERT_EQ(writer.status, OpStatus::kBusy);
    EXPECT_TRUE(clock().IsLeft(writer.detail->remaining, left)) << key;
    const AcquireOp reader = things_.Acquire(key, {.mode = LockMode::kShared, .max_holders = 1});
    ASSERT_EQ(reader.status, OpStatus::kBusy);
    EXPECT_TRUE(clock().IsLeft(reader.detail->remaining, left)) << key;
  }
}

TEST_P(Contract, AnInsertWithoutABodyIsRefused) {
  const Key key("42");
  SaveOp alone = Save(key, SaveKind::kInsert), with_another = Save(key, SaveKind::kInsert);
  ASSERT_NO_THROW(RunAlone(alone));
  ExpectFailed(alone, Errc::kRefused);
  ASSERT_NO_THROW(RunInCompany(with_another));
  ExpectFailed(with_another, Errc::kRefused);
  EXPECT_EQ(things_.Read(key).status, OpStatus::kMissing);
}

TEST_P(Contract, AReplacementOfAnyVersionIsRefused) {
  const Key key("42");
  const SaveOp insert = things_.Insert(key, {{"a", 1}});
  SaveOp replace = Save(key, SaveKind::kReplace, MakeBody({{"a", 2}}));
  replace.born = insert.born;
  RunAlone(replace);
  ExpectFailed(replace, Errc::kRefused);
  EXPECT_EQ(things_.Read(key).version, 1);
}

TEST_P(Contract, AReplacementWithoutABodyLeavesTheBody) {
  const Key key("42");
  const SaveOp insert = things_.Insert(key, {{"a", 1}});
  SaveOp replace = Save(key, SaveKind::kReplace);
  replace.born = insert.born;
  replace.expected = 1;
  RunAlone(replace);
  ASSERT_EQ(replace.status, OpStatus::kDone);
  const ReadOp read = things_.Read(key);
  EXPECT_EQ(read.version, 2);
  EXPECT_EQ(read.body.json(), Json({{"a", 1}}));
}

TEST_P(Contract, TextThatIsNotUtf8IsRefused) {
  for (const Json& tree : {Json{{"a", kBadText}}, Json{{"a", {{"b", {1, kBadText}}}}},
                           Json{{"a", {{kBadText, 1}}}}, Json{{kBadText, 1}}}) {
    ExpectFailed(things_.Insert("new", tree), Errc::kDocument);
    ExpectFailed(things_.Acquire("new", {.insert = MakeBody(tree)}), Errc::kDocument);
    ExpectFailed(things_.Acquire("new", {.insert = MakeBody(tree), .mode = LockMode::kShared}),
                 Errc::kDocument);
  }
  EXPECT_EQ(things_.Read("new").status, OpStatus::kMissing);
  const Body bad = MakeBody({{"a", kBadText}});
  const SaveOp insert = things_.Insert("42", {{"a", 1}});
  ExpectFailed(things_.Replace("42", 1, insert.born, {{"a", kBadText}}), Errc::kDocument);
  const AcquireOp grant = things_.Acquire("42");
  ExpectFailed(things_.Release("42", grant, bad), Errc::kDocument);
  ExpectFailed(things_.Release("42", grant.grant.lock_id, {.body = bad, .merge = true}),
               Errc::kDocument);
  const ReadOp read = things_.Read("42");
  EXPECT_EQ(read.lock_id, grant.grant.lock_id);
  EXPECT_EQ(read.body.json(), Json({{"a", 1}}));
}

TEST_P(Contract, TextThatIsNotUtf8SpoilsNoBatch) {
  const Key key("42");
  SaveOp bad = Save(key, SaveKind::kInsert, MakeBody({{"a", kBadText}}));
  RunInCompany(bad);
  ExpectFailed(bad, Errc::kDocument);
}

TEST_P(Contract, AShareIsNotGrantedTwiceUnderOneId) {
  const AcquireArgs share{.id = FreshId(), .mode = LockMode::kShared};
  things_.Create("42", {}, share);
  things_.Acquire("42", {.ttl = 2 * kTtl, .mode = LockMode::kShared});
  ExpectFailed(things_.Acquire("42", share), Errc::kRefused);
  EXPECT_EQ(things_.Locks().size(), 2u);
  EXPECT_EQ(things_.Read("42").version, 2);
  AcquireArgs no_room = share;
  no_room.max_holders = 2;
  EXPECT_EQ(things_.Acquire("42", no_room).status, OpStatus::kBusy);
  clock().Advance(kTtl);
  EXPECT_EQ(things_.Acquire("42", share).status, OpStatus::kDone) << "the first one is over";
  EXPECT_EQ(things_.Locks().size(), 2u);
}

TEST_P(Contract, WhatIsNotHeldIsAsOldAsTheEndOfItsLease) {
  const AcquireOp purged = things_.Create("purged");
  const AcquireOp saved = things_.Create("saved");
  const AcquireOp shared = things_.Create("shared", {}, {.mode = LockMode::kShared});
  things_.Insert("never held", {});
  clock().Advance(kTtl + 60s);
  EXPECT_EQ(things_.Replace("saved", 1, saved.born, {}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Purge(), 2);
  clock().Advance(60s);
  for (const LockRow& row : things_.Locks({.unheld = true})) {
    EXPECT_TRUE(row.lock_id.is_nil());
    const auto age = row.key == Key("never held") ? 0s : 120s;
    EXPECT_GE(row.age, age) << row.key.ToString();
    EXPECT_LE(row.age, age + backend().slack) << row.key.ToString();
  }
}

class UniqueValues : public StoreConformance {
 protected:
  UniqueValues() { store().EnsureIndex(things_.collection(), {{"v"}, true}); }
  OpStatus Insert(const Key& key, Json value) {
    return things_.Insert(key, {{"v", std::move(value)}}).status;
  }
};

TEST_P(UniqueValues, MissingAndNullRepeatNothing) {
  EXPECT_EQ(things_.Insert("1", {}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Insert("2", {}).status, OpStatus::kDone);
  EXPECT_EQ(Insert("3", nullptr), OpStatus::kDone);
  EXPECT_EQ(Insert("4", nullptr), OpStatus::kDone);
}

TEST_P(UniqueValues, OneOfTwoFieldsThatIsNullRepeatsNothing) {
  Client pairs = Open("pairs");
  store().EnsureIndex(pairs.collection(), {{"a", "b"}, true});
  EXPECT_EQ(pairs.Insert("1", {{"a", 1}, {"b", nullptr}}).status, OpStatus::kDone);
  EXPECT_EQ(pairs.Insert("2", {{"a", 1}, {"b", nullptr}}).status, OpStatus::kDone);
  EXPECT_EQ(pairs.Insert("3", {{"a", 1}}).status, OpStatus::kDone);
  EXPECT_EQ(pairs.Insert("4", {{"a", 1}}).status, OpStatus::kDone);
}

TEST_P(UniqueValues, NumbersAreEqualByValueAndKindsApart) {
  EXPECT_EQ(Insert("1", 1), OpStatus::kDone);
  EXPECT_EQ(Insert("2", 1.0), OpStatus::kConflict);
  EXPECT_EQ(Insert("3", true), OpStatus::kDone);
  EXPECT_EQ(Insert("4", "1"), OpStatus::kDone);
  EXPECT_EQ(Insert("5", false), OpStatus::kDone);
  EXPECT_EQ(Insert("6", ""), OpStatus::kDone);
  EXPECT_EQ(Insert("7", 0), OpStatus::kDone);
}

TEST_P(UniqueValues, ArraysRepeatEachOtherWhenTheyAreEqual) {
  EXPECT_EQ(Insert("1", {1, 2}), OpStatus::kDone);
  EXPECT_EQ(Insert("2", {3}), OpStatus::kDone);
  EXPECT_EQ(Insert("3", {1, 2}), OpStatus::kConflict);
  EXPECT_EQ(Insert("4", Json::array()), OpStatus::kDone);
  EXPECT_EQ(Insert("5", Json::array()), OpStatus::kConflict);
}

TEST_P(UniqueValues, ObjectsRepeatEachOtherWhenTheyAreEqual) {
  EXPECT_EQ(Insert("1", {{"a", 1}}), OpStatus::kDone);
  EXPECT_EQ(Insert("2", {{"a", 2}}), OpStatus::kDone);
  EXPECT_EQ(Insert("3", {{"a", 1}}), OpStatus::kConflict);
  EXPECT_EQ(Insert("4", Json::object()), OpStatus::kDone);
}

TEST_P(UniqueValues, FollowAnArrayThatChanges) {
  const SaveOp first = things_.Insert("1", {{"v", {1}}});
  EXPECT_EQ(things_.Replace("1", 1, first.born, {{"v", {2}}}).status, OpStatus::kDone);
  EXPECT_EQ(Insert("2", {2}), OpStatus::kConflict);
  EXPECT_EQ(Insert("2", {1}), OpStatus::kDone);
  EXPECT_EQ(things_.Erase("1").status, OpStatus::kDone);
  EXPECT_EQ(Insert("3", {2}), OpStatus::kDone);
}

INSTANTIATE_TEST_SUITE_P(Stores, Contract, ::testing::ValuesIn(AllStores()), NameOf);
INSTANTIATE_TEST_SUITE_P(Stores, UniqueValues, ::testing::ValuesIn(AllStores()), NameOf);

}  // namespace
}  // namespace doclock::conformance
