#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace doclock::sqlite {

class TableNames;

/// The statements about one collection.
enum class Sql : std::uint8_t {
  kFind,           ///< ?1 key -> kStoredColumns
  kFindWithBody,   ///< ?1 key -> kStoredColumns, body
  kFindById,       ///< ?1 id -> kStoredColumns
  kHeldIds,        ///< ?1 after id, ?2 limit -> ids of rows with a lock id
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
  kList,           ///< ?1 after id, ?2 limit -> kListedColumns of rows with a lock id
  kListAll,        ///< as above, of all rows
  kListKey,        ///< ?1 key -> kListedColumns
  kListGroup,      ///< ?1 group -> kListedColumns
  kGlance,         ///< ?1 id -> how many shares, is there an intent?
  kShares,         ///< ?1 id -> columns of the table of shares but the first
  kFindShare,      ///< ?1 id, ?2 share -> as above
  kAddShare,
  kPutShare,      ///< ?1.. columns of the table of shares
  kRenewShare,    ///< ?1 id, ?2 share, ?3 now, ?4 slot, ?5 boot, ?6 ttl, ?7 kSharedLockId
  kCover,         ///< ?1 id, ?2 kSharedLockId, ?3 now, ?4 ttl
  kExpireShares,  ///< ?1 id
  kSharedId,      ///< ?1 key, ?2 kSharedLockId -> id, version
  kLeaveShared,   ///< ?1 id, ?2 share, ?3 now, ?4 slot, ?5 boot
  kDeleteShare,   ///< ?1 id, ?2 share
  kDeleteShares,  ///< ?1 id
  kFindIntent,    ///< ?1 id -> columns of the table of intents but the first
  kPutIntent,     ///< ?1.. columns of the table of intents
  kDeleteIntent,  ///< ?1 id
};
inline constexpr std::size_t kSqlCount = static_cast<std::size_t>(Sql::kDeleteIntent) + 1;

/// The columns a StoredLock is read from, for a FROM that calls documents d and leases l.
inline constexpr const char* kStoredColumns =
    "d.id, d.lock_id, d.lock_version, d.lock_time, d.lock_ttl, d.lock_slot, d.lock_boot, "
    "d.lock_closed, d.lock_owner, d.lock_released, d.lock_born, l.lock_id, l.renewed, l.ttl, "
    "d.lock_fence";
/// The number of those columns.
inline constexpr int kStoredColumnCount = 15;

/// "documents d LEFT JOIN leases l ..." for kStoredColumns.
std::string StoredTables(const TableNames& tables);

/// The text of a statement.
std::string TextOf(Sql which, const TableNames& tables);

}  // namespace doclock::sqlite
