#include "store_conformance.h"

#include <array>

namespace doclock {

void PrintTo(OpStatus status, std::ostream* out) {
  static constexpr std::array kNames{"pending",  "done", "busy",   "missing",
                                     "conflict", "lost", "failed", "in doubt"};
  *out << kNames.at(static_cast<std::size_t>(status));
}

namespace conformance {

Uuid FreshId() { return NewUuid(); }

const OpDetail& DetailOf(const StoreOp& op) {
  static const OpDetail none;
  EXPECT_TRUE(op.detail) << "a result that is " << ::testing::PrintToString(op.status)
                         << " lacks its detail";
  return op.detail ? *op.detail : none;
}

void Client::Execute(const std::vector<StoreOp*>& ops) {
  store_.Execute(ops, kBudget);
  for (const StoreOp* op : ops) {
    EXPECT_NE(op->status, OpStatus::kPending);
    if (op->status == OpStatus::kFailed || op->status == OpStatus::kInDoubt) DetailOf(*op);
  }
}

AcquireOp Client::Acquire(const Key& key, const AcquireArgs& args) {
  AcquireOp op(*collection_, key);
  op.grant.lock_id = args.id;
  op.grant.ttl = args.ttl;
  op.grant.min_hold = args.min_hold;
  op.grant.group = args.group;
  op.grant.mode = args.mode;
  op.grant.max_holders = args.max_holders;
  op.grant.queue_for = args.queue_for;
  if (!args.owner.empty()) {
    LockHolder holder;
    holder.name = args.owner;
    op.grant.owner = std::make_shared<const LockHolder>(std::move(holder));
  }
  op.insert = args.insert;
  Run(op);
  return op;
}

AcquireOp Client::Create(const Key& key, Json tree, AcquireArgs args) {
  args.insert = MakeBody(std::move(tree));
  AcquireOp op = Acquire(key, args);
  EXPECT_EQ(op.status, OpStatus::kDone);
  return op;
}

RenewOp Client::Renew(const Key& key, const Uuid& id, std::chrono::milliseconds ttl,
                      LockMode mode) {
  RenewOp op(*collection_, key);
  op.lock_id = id;
  op.ttl = ttl;
  op.mode = mode;
  Run(op);
  return op;
}

WriteOp Client::Write(const Key& key, WriteKind kind, const Uuid& id, const WriteArgs& args) {
  WriteOp op(*collection_, key);
  op.write = kind;
  op.lock_id = id;
  op.expected = args.expected;
  op.body = args.body;
  op.merge = args.merge;
  op.ttl = args.ttl;
  op.next = args.next;
  op.mode = args.mode;
  Run(op);
  return op;
}

WriteOp Client::Release(const Key& key, const AcquireOp& grant, Body body) {
  WriteArgs args;
  args.expected = grant.version;
  args.body = std::move(body);
  return Release(key, grant.grant.lock_id, args);
}

SaveOp Client::InsertBody(const Key& key, Body body) {
  SaveOp op(*collection_, key);
  op.save = SaveKind::kInsert;
  op.write_id = FreshId();
  op.body = std::move(body);
  Run(op);
  return op;
}

SaveOp Client::Replace(const Key& key, std::int64_t version, const Uuid& born, Json tree) {
  SaveOp op(*collection_, key);
  op.save = SaveKind::kReplace;
  op.expected = version;
  op.born = born;
  op.write_id = FreshId();
  op.body = MakeBody(std::move(tree));
  Run(op);
  return op;
}

SaveOp Client::Erase(const Key& key, std::int64_t version, const Uuid& born) {
  SaveOp op(*collection_, key);
  op.save = SaveKind::kErase;
  op.expected = version;
  op.born = born;
  op.write_id = FreshId();
  Run(op);
  return op;
}

ReadOp Client::Read(const Key& key) {
  ReadOp op(*collection_, key);
  Run(op);
  return op;
}

std::vector<QueryRow> Client::Rows(const Filter& filter) {
  std::vector<QueryRow> rows;
  const auto keep = [&](QueryRow&& row) {
    rows.push_back(std::move(row));
    return true;
  };
  store_.Query(*collection_, filter, keep, kBudget);
  return rows;
}

std::vector<Key> Client::Query(const Filter& filter) {
  std::vector<Key> keys;
  for (QueryRow& row : Rows(filter)) keys.push_back(std::move(row.key));
  return keys;
}

std::vector<LockRow> Client::Locks(const LockQuery& query) {
  std::vector<LockRow> rows;
  std::string after;
  do {
    LockPage page = store_.ListLocks(*collection_, query, after, kBudget);
    for (LockRow& row : page.rows) rows.push_back(std::move(row));
    after = page.next;
  } while (!after.empty());
  return rows;
}

Client::Next Client::AcquireNext(const Filter& filter) {
  const Key unknown;
  Key key;
  AcquireOp op(*collection_, unknown);
  const Uuid id = FreshId();
  op.grant.lock_id = id;
  op.grant.ttl = kTtl;
  store_.AcquireNext(filter, op, key, kBudget);
  const OpStatus status = op.status;
  if (status == OpStatus::kDone) {
    EXPECT_EQ(op.key, &key);
  }
  return {status, std::move(key), id, std::move(op)};
}

}  // namespace conformance
}  // namespace doclock
