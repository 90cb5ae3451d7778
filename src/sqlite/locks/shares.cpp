#include "sqlite/locks/shares.h"

#include <cstring>
#include <utility>

#include "doclock/store.h"
#include "sqlite/db/columns.h"

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
  Run(Sql::kAddShare, share);
  return connection_.Changes() == 1;
}

void Shares::Run(Sql which, const StoredShare& share) {
  const Running put(connection_.Prepared(tables_, which));
  put->Bind(1, share.doc);
  put->Bind(2, share.lease.id);
  put->Bind(3, std::int64_t{share.granted.count()});
  put->Bind(4, std::int64_t{share.lease.time.count()});
  put->Bind(5, std::int64_t{share.lease.ttl.count()});
  put->Bind(6, share.lease.slot);
  put->Bind(7, share.lease.boot);
  put->Bind(8, share.lease.owner);
  put->Bind(9, share.lease.wall);
  put->Bind(10, share.group);
  put->Bind(11, share.lease.fence);
  put->Step();
}

void Shares::Delete(std::int64_t doc, const Uuid& id) {
  const Running erase(connection_.Prepared(tables_, Sql::kDeleteShare));
  erase->Bind(1, doc);
  erase->Bind(2, id);
  erase->Step();
}

bool Shares::Renew(std::int64_t doc, const Uuid& id, std::chrono::nanoseconds now,
                   std::chrono::milliseconds ttl, std::int64_t slot, std::int64_t boot) {
  const Running renew(connection_.Prepared(tables_, Sql::kRenewShare));
  renew->Bind(1, doc);
  renew->Bind(2, id);
  renew->Bind(3, std::int64_t{now.count()});
  renew->Bind(4, slot);
  renew->Bind(5, boot);
  renew->Bind(6, std::int64_t{ttl.count()});
  renew->Bind(7, kSharedLockId);
  renew->Step();
  return connection_.Changes() == 1;
}

bool Shares::Leave(std::int64_t doc, const Uuid& id, std::chrono::nanoseconds now,
                   std::int64_t slot, std::int64_t boot) {
  const Running leave(connection_.Prepared(tables_, Sql::kLeaveShared));
  leave->Bind(1, doc);
  leave->Bind(2, id);
  leave->Bind(3, std::int64_t{now.count()});
  leave->Bind(4, slot);
  leave->Bind(5, boot);
  leave->Step();
  return connection_.Changes() == 1;
}

void Shares::Cover(std::int64_t doc, std::chrono::nanoseconds now, std::chrono::milliseconds ttl) {
  const Running cover(connection_.Prepared(tables_, Sql::kCover));
  cover->Bind(1, doc);
  cover->Bind(2, kSharedLockId);
  cover->Bind(3, std::int64_t{now.count()});
  cover->Bind(4, std::int64_t{ttl.count()});
  cover->Step();
}

void Shares::Run(Sql which, std::int64_t doc) {
  const Running statement(connection_.Prepared(tables_, which));
  statement->Bind(1, doc);
  statement->Step();
}

}  // namespace doclock::sqlite
