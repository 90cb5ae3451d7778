#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace doclock::sqlite {

class TableNames;

/// The statements about one collection.
enum class Sql : std::uint8_t {
  kFindWithBody,   ///< ?1 key -> kStoredColumns, body
  kReleaseKnown,   ///< ?1 key, ?2 lock id, ?3 version, ?4 body, ?5 now, ?6 UnixTime, ?7 boot
  kUnlockKnown,    ///< as above without the body
  kPutLock,        ///< ?1 id, ?2.. lock columns
  kPutDocument,    ///< ?1 id, ?2.. lock columns, ?13 body
  kInsert,         ///< ?1 key, ?2.. lock columns, ?13 body
  kDelete,         ///< ?1 id
  kRenewLease,     ///< ?1 id, ?2 lock id, ?3 now, ?4 ttl
  kPutLease,       ///< ?1 id, ?2 lock id, ?3 now, ?4 ttl
  kDeleteLease,    ///< ?1 id
  kDeleteLeaseOf,  ///< ?1 key
  kPutGroup,       ///< ?1 id, ?2 lock id, ?3 group
  kDeleteGroup,    ///< ?1 id
  kList,           ///< ?1 after id -> kListedColumns of rows with a lock id, by id
  kListAll,        ///< as above, of all rows
  kListKey,        ///< ?1 after id, ?2 key -> kListedColumns
  kListGroup,      ///< ?1 after id, ?2 group -> kListedColumns
  kGlance,         ///< ?1 id -> how many shares, is one malformed?
  kShares,         ///< ?1 id -> columns of the table of shares but the first
  kAddShare,
  kPutShare,      ///< ?1.. columns of the table of shares
  kRenewShare,    ///< ?1 id, ?2 share, ?3 now, ?4 slot, ?5 boot, ?6 ttl, ?7 kSharedLockId
  kCover,         ///< ?1 id, ?2 kSharedLockId, ?3 now, ?4 ttl
  kSharedId,      ///< ?1 key, ?2 kSharedLockId -> id, version
  kLeaveShared,   ///< ?1 id, ?2 share, ?3 now, ?4 slot, ?5 boot
  kDeleteShare,   ///< ?1 id, ?2 share
  kDeleteShares,  ///< ?1 id
  kQueue,         ///< ?1 id -> columns of the table of waiters but the first, by place
  kPutEntry,      ///< ?1.. columns of the table of waiters
  kDeleteEntry,   ///< ?1 id, ?2 place
  kDeleteQueue,   ///< ?1 id
};
inline constexpr std::size_t kSqlCount = static_cast<std::size_t>(Sql::kDeleteQueue) + 1;

/// The columns a LockColumns is read from, for a FROM that calls documents d and leases l.
inline constexpr const char* kStoredColumns =
    "d.id, d.lock_id, d.lock_version, d.lock_time, d.lock_ttl, d.lock_slot, d.lock_boot, "
    "d.lock_closed, d.lock_owner, d.lock_released, d.lock_born, l.lock_id, l.renewed, l.ttl, "
    "d.lock_fence, d.lock_queue";
/// The number of those columns.
inline constexpr int kStoredColumnCount = 16;

/// The condition for a share that Shares::Read finds malformed. An index holds those rows: looking
/// at each column of many shares would cost more than the rest of a grant.
inline constexpr const char* kMalformedShare =
    "NOT(typeof(share)='blob' AND length(share)=16 "
    "AND share<>x'00000000000000000000000000000000' "
    "AND typeof(granted)='integer' AND granted BETWEEN 0 AND 4611686018427387903 "
    "AND typeof(renewed)='integer' AND renewed BETWEEN 0 AND 4611686018427387903 "
    "AND typeof(ttl)='integer' AND ttl BETWEEN 0 AND 31536000000 "
    "AND typeof(slot)='integer' AND slot>=0 AND typeof(boot)='integer' "
    "AND typeof(owner)='integer' AND typeof(wall)='integer' AND typeof(fence)='integer')";

/// "documents d LEFT JOIN leases l ..." for kStoredColumns.
std::string StoredTables(const TableNames& tables);

/// The text of a statement.
std::string TextOf(Sql which, const TableNames& tables);

}  // namespace doclock::sqlite
