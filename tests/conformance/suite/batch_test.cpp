#include <algorithm>
#include <deque>

#include "store_conformance.h"

namespace doclock::conformance {
namespace {

/// A batch of operations that lives on its own.
class Batch {
 public:
  explicit Batch(Client& client) : client_(client) {}

  AcquireOp& Acquire(const Key& key, Body insert = {}) {
    AcquireOp& op = acquires_.emplace_back(client_.collection(), Keep(key));
    op.grant.lock_id = FreshId();
    op.grant.ttl = kTtl;
    op.insert = std::move(insert);
    return Added(op);
  }
  WriteOp& Release(const Key& key, const Uuid& id, std::int64_t version, Body body) {
    WriteOp& op = writes_.emplace_back(client_.collection(), Keep(key));
    op.lock_id = id;
    op.expected = version;
    op.body = std::move(body);
    return Added(op);
  }
  RenewOp& Renew(const Key& key, const Uuid& id) {
    RenewOp& op = renewals_.emplace_back(client_.collection(), Keep(key));
    op.lock_id = id;
    op.ttl = kTtl;
    return Added(op);
  }
  SaveOp& Insert(const Key& key, Body body) {
    SaveOp& op = saves_.emplace_back(client_.collection(), Keep(key));
    op.save = SaveKind::kInsert;
    op.write_id = FreshId();
    op.body = std::move(body);
    return Added(op);
  }
  ReadOp& Read(const Key& key) {
    return Added(reads_.emplace_back(client_.collection(), Keep(key)));
  }
  void Execute(Store& store) { store.Execute(ops_, kBudget); }

 private:
  const Key& Keep(const Key& key) { return keys_.emplace_back(key); }
  template <class Op>
  Op& Added(Op& op) {
    ops_.push_back(&op);
    return op;
  }

  Client& client_;
  std::deque<Key> keys_;
  std::deque<AcquireOp> acquires_;
  std::deque<WriteOp> writes_;
  std::deque<RenewOp> renewals_;
  std::deque<SaveOp> saves_;
  std::deque<ReadOp> reads_;
  std::vector<StoreOp*> ops_;
};

TEST_P(StoreConformance, AnEmptyBatchIsFine) { Batch(things_).Execute(store()); }

TEST_P(StoreConformance, EachOperationOfABatchHasItsOwnResult) {
  const AcquireOp held = things_.Create("held");
  const AcquireOp kept = things_.Create("kept");
  things_.Insert("there", {{"a", 1}});
  Batch batch(things_);
  const AcquireOp& missing = batch.Acquire("missing");
  const AcquireOp& made = batch.Acquire("made", MakeBody({{"b", 2}}));
  const WriteOp& released = batch.Release("held", held.grant.lock_id, 1, MakeBody({{"c", 3}}));
  const WriteOp& lost = batch.Release("there", FreshId(), 1, MakeBody({{"c", 4}}));
  const RenewOp& renewed = batch.Renew("kept", kept.grant.lock_id);
  const SaveOp& inserted = batch.Insert("inserted", MakeBody({{"d", 5}}));
  const ReadOp& read = batch.Read("missing too");
  batch.Execute(store());
  EXPECT_EQ(missing.status, OpStatus::kMissing);
  EXPECT_EQ(made.status, OpStatus::kDone);
  EXPECT_EQ(released.status, OpStatus::kDone);
  EXPECT_EQ(lost.status, OpStatus::kLost);
  EXPECT_EQ(renewed.status, OpStatus::kDone);
  EXPECT_EQ(inserted.status, OpStatus::kDone);
  EXPECT_EQ(read.status, OpStatus::kMissing);
  EXPECT_EQ(things_.Read("held").body.json(), Json({{"c", 3}}));
  EXPECT_EQ(things_.Read("there").body.json(), Json({{"a", 1}}));
}

TEST_P(StoreConformance, ABatchTakesNoEarlierWriteForItsOwn) {
  const AcquireOp held = things_.Create("held", {{"a", 1}});
  const AcquireOp released = things_.Create("released", {{"a", 1}});
  things_.Release("released", released);
  Batch batch(things_);
  batch.Acquire("missing");
  const Body body = MakeBody({{"a", 2}});
  WriteOp& stale = batch.Release("held", held.grant.lock_id, held.version - 1, body);
  stale.write = WriteKind::kCheckpoint;
  stale.ttl = kTtl;
  const WriteOp& again = batch.Release("released", released.grant.lock_id, 1, body);
  batch.Execute(store());
  EXPECT_EQ(stale.status, OpStatus::kLost);
  EXPECT_EQ(again.status, OpStatus::kLost);
  for (const char* key : {"held", "released"}) {
    EXPECT_EQ(things_.Read(key).body.json(), Json({{"a", 1}})) << key;
  }
}

TEST_P(StoreConformance, ABatchTakesNoEarlierGrantForItsOwn) {
  const AcquireOp held = things_.Create("held");
  Batch batch(things_);
  const AcquireOp& missing = batch.Acquire("missing");
  AcquireOp& again = batch.Acquire("held");
  again.grant.lock_id = held.grant.lock_id;
  batch.Execute(store());
  EXPECT_EQ(missing.status, OpStatus::kMissing);
  EXPECT_EQ(again.status, OpStatus::kBusy);
}

TEST_P(StoreConformance, ABatchMaySpanCollections) {
  Client others = Open("others");
  Batch batch(things_);
  const AcquireOp& here = batch.Acquire("42", MakeBody({{"in", "things"}}));
  AcquireOp& there = batch.Acquire("42", MakeBody({{"in", "others"}}));
  there.collection = &others.collection();
  batch.Execute(store());
  EXPECT_EQ(here.status, OpStatus::kDone);
  EXPECT_EQ(there.status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").body.json(), Json({{"in", "things"}}));
  EXPECT_EQ(others.Read("42").body.json(), Json({{"in", "others"}}));
}

TEST_P(StoreConformance, AFullBatchKeepsResultsInPlace) {
  const int count = static_cast<int>(std::min<std::size_t>(store().traits().max_batch, 128));
  for (int i = 0; i < count; i += 2) things_.Create(i, {{"n", i}});
  Batch batch(things_);
  std::vector<AcquireOp*> ops;
  for (int i = 0; i < count; ++i) ops.push_back(&batch.Acquire(i, MakeBody({{"n", -i}})));
  batch.Execute(store());
  for (int i = 0; i < count; ++i) {
    const AcquireOp& op = *ops[static_cast<std::size_t>(i)];
    ASSERT_EQ(op.status, i % 2 == 0 ? OpStatus::kBusy : OpStatus::kDone) << i;
    if (i % 2 == 0) {
      EXPECT_TRUE(clock().IsLeft(op.detail->remaining, kTtl));
    } else {
      EXPECT_EQ(op.body.json().at("n"), -i);
    }
  }
}

}  // namespace
}  // namespace doclock::conformance
