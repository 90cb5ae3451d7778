#include "sqlite/locks/shares.h"

#include <cstring>
#include <utility>

#include "doclock/store.h"
#include "sqlite/locks/columns.h"

namespace doclock::sqlite {

StoredShare Shares::Read(const Statement& row, std::int64_t doc) {
  Columns columns(row);
  StoredShare share;
  share.doc = doc;
  LockColumns& lease = share.lease;
  lease.id = columns.Id(0);
  share.granted = columns.Time(1);
  lease.time = columns.Time(2);
  lease.ttl = columns.Ttl(3);
  lease.slot = columns.Integer(4, 0, INT64_MAX);
  lease.boot = columns.Any(5);
  lease.owner = columns.Any(6);
  lease.wall = columns.Any(7);
  lease.fence = columns.Any(9);
  lease.malformed = !columns.good() || lease.id.is_nil();
  lease.doc = ShareNumber(lease.id);
  share.group = row.Text(8);
  return share;
}

std::int64_t ShareNumber(const Uuid& id) noexcept {
  std::int64_t number = 0;
  std::memcpy(&number, &id, sizeof number);
  return number;
}

ShareRows Shares::Glance(std::int64_t doc) {
  const Running row(connection_.Prepared(tables_, Sql::kGlance));
  row->Bind(1, doc);
  row->Step();
  return {.shares = row->Integer(0), .malformed = row->Integer(1) != 0};
}

std::vector<StoredShare> Shares::Of(std::int64_t doc) {
  std::vector<StoredShare> shares;
  const Running row(connection_.Prepared(tables_, Sql::kShares));
  row->Bind(1, doc);
  while (row->Step()) shares.push_back(Read(*row, doc));
  return shares;
}

bool Shares::Add(const StoredShare& share) {
  Write(Sql::kAddShare, share);
  return connection_.Changes() == 1;
}

void Shares::Write(Sql which, const StoredShare& share) {
  const LockColumns& lease = share.lease;
  connection_.Run(tables_, which, share.doc, lease.id, share.granted, lease.time, lease.ttl,
                  lease.slot, lease.boot, lease.owner, lease.wall, share.group, lease.fence);
}

bool Shares::Renew(std::int64_t doc, const Uuid& id, std::chrono::nanoseconds now,
                   std::chrono::milliseconds ttl, std::int64_t slot, std::int64_t boot) {
  connection_.Run(tables_, Sql::kRenewShare, doc, id, now, slot, boot, ttl, kSharedLockId);
  return connection_.Changes() == 1;
}

bool Shares::Leave(std::int64_t doc, const Uuid& id, std::chrono::nanoseconds now,
                   std::int64_t slot, std::int64_t boot) {
  connection_.Run(tables_, Sql::kLeaveShared, doc, id, now, slot, boot);
  return connection_.Changes() == 1;
}

void Shares::Cover(std::int64_t doc, std::chrono::nanoseconds now, std::chrono::milliseconds ttl) {
  connection_.Run(tables_, Sql::kCover, doc, kSharedLockId, now, ttl);
}

}  // namespace doclock::sqlite
