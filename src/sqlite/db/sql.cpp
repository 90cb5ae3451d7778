#include "sqlite/db/sql.h"

#include "sqlite/schema/table_names.h"

namespace doclock::sqlite {
namespace {

constexpr const char* kFree = "lock_id = zeroblob(16)";
/// Of a short cut: the long way tells that a document is malformed.
constexpr const char* kSoundVersion = " AND typeof(lock_version)='integer'";
constexpr const char* kSetLock =
    "lock_id=?2, lock_version=?3, lock_time=?4, lock_ttl=?5, lock_slot=?6, lock_boot=?7, "
    "lock_closed=?8, lock_owner=?9, lock_released=?10, lock_born=?11, "
    "lock_wall=coalesce(nullif(?12, 0), lock_wall), lock_fence=?14, lock_queue=?15";
/// The remaining time of a renewed lease at ?3, in milliseconds.
constexpr const char* kLeft = "(renewed + ttl*1000000 - ?3 + 999999)/1000000";
/// The length of a lease that is renewed at ?3, as rules::Lease::Renew.
std::string RenewedTtl(const std::string& given, const std::string& left = kLeft) {
  return "min(31536000000, max(" + given + ", " + left + "))";
}
/// A share of this process, in this boot.
constexpr const char* kLiveHere = "renewed + ttl*1000000 > ?3 AND slot=?4 AND boot=?5";
constexpr const char* kShareValues =
    "(doc, share, granted, renewed, ttl, slot, boot, owner, wall, name, fence) "
    "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,NULLIF(?10,''),?11)";
constexpr const char* kSelectShares =
    "SELECT share, granted, renewed, ttl, slot, boot, owner, wall, name, fence FROM ";

std::string Find(const TableNames& tables, const std::string& more_columns,
                 const std::string& where) {
  return std::string("SELECT ") + kStoredColumns + more_columns + " FROM " + StoredTables(tables) +
         " WHERE " + where;
}

std::string Release(const std::string& documents, const std::string& set_body) {
  return "UPDATE " + documents + " SET " + set_body +
         "lock_id=zeroblob(16), lock_version=lock_version+1, lock_released=?2, lock_time=?5, "
         "lock_wall=?6 "
         "WHERE key=?1 AND lock_id=?2 AND lock_version=?3" +
         kSoundVersion + " AND lock_boot=?7 AND lock_queue=0";
}

/// The columns of a LockRow behind kStoredColumns.
std::string Listed(const TableNames& tables) {
  return std::string("SELECT ") + kStoredColumns +
         ", d.key, d.lock_wall, g.name, d.body IS NOT NULL AND d.body <> '{}' FROM " +
         StoredTables(tables) + " LEFT JOIN " + tables.quoted_groups() +
         " g ON g.doc = d.id AND g.lock_id = d.lock_id WHERE ";
}

std::string Insert(const std::string& documents) {
  return "INSERT INTO " + documents +
         "(key, lock_id, lock_version, lock_time, lock_ttl, lock_slot, lock_boot, lock_closed, "
         "lock_owner, lock_released, lock_born, lock_wall, body, lock_fence, lock_queue) "
         "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)";
}

}  // namespace

std::string StoredTables(const TableNames& tables) {
  // Only held locks have leases; looking for others would cost as much as a small write.
  return tables.quoted_documents() + " d LEFT JOIN " + tables.quoted_leases() +
         " l ON l.doc = CASE WHEN NOT d." + kFree + " THEN d.id END";
}

std::string TextOf(Sql which, const TableNames& tables) {
  const std::string& documents = tables.quoted_documents();
  const std::string& leases = tables.quoted_leases();
  const std::string& shares = tables.quoted_shares();
  switch (which) {
    case Sql::kFindWithBody:
      return Find(tables, ", d.body", "d.key = ?1");
    case Sql::kReleaseKnown:
      return Release(documents, "body=?4, ");
    case Sql::kUnlockKnown:
      return Release(documents, "");
    case Sql::kPutLock:
      return "UPDATE " + documents + " SET " + kSetLock + " WHERE id=?1";
    case Sql::kPutDocument:
      return "UPDATE " + documents + " SET " + kSetLock + ", body=?13 WHERE id=?1";
    case Sql::kInsert:
      return Insert(documents);
    case Sql::kDelete:
      return "DELETE FROM " + documents + " WHERE id=?1";
    case Sql::kRenewLease:
      return "UPDATE " + leases + " SET renewed=?3, ttl=" + RenewedTtl("?4") +
             " WHERE doc=?1 AND lock_id=?2 AND renewed + ttl*1000000 > ?3 "
             "AND EXISTS(SELECT 1 FROM " +
             documents + " WHERE id=?1 AND lock_id=?2" + kSoundVersion + ")";
    case Sql::kPutLease:
      return "INSERT OR REPLACE INTO " + leases +
             "(doc, lock_id, renewed, ttl) VALUES(?1,?2,?3,?4)";
    case Sql::kDeleteLease:
      return "DELETE FROM " + leases + " WHERE doc=?1";
    case Sql::kDeleteLeaseOf:
      return "DELETE FROM " + leases + " WHERE doc=(SELECT id FROM " + documents + " WHERE key=?1)";
    case Sql::kPutGroup:
      return "INSERT OR REPLACE INTO " + tables.quoted_groups() +
             "(doc, lock_id, name) VALUES(?1,?2,?3)";
    case Sql::kDeleteGroup:
      return "DELETE FROM " + tables.quoted_groups() + " WHERE doc=?1";
    case Sql::kList:
      return Listed(tables) + "d.id > ?1 AND NOT d." + kFree + " ORDER BY d.id";
    case Sql::kListAll:
      return Listed(tables) + "d.id > ?1 ORDER BY d.id";
    case Sql::kListKey:
      return Listed(tables) + "d.id > ?1 AND d.key = ?2";
    case Sql::kListGroup:
      return Listed(tables) + "d.id > ?1 AND d.id IN (SELECT doc FROM " + tables.quoted_groups() +
             " WHERE name=?2 UNION SELECT doc FROM " + shares + " WHERE name=?2) ORDER BY d.id";
    case Sql::kGlance:
      return "SELECT count(*), EXISTS(SELECT 1 FROM " + shares + " INDEXED BY " +
             Quoted(tables.malformed_shares()) + " WHERE doc=?1 AND " + kMalformedShare +
             ") FROM " + shares + " WHERE doc=?1";
    case Sql::kShares:
      return kSelectShares + shares + " WHERE doc=?1";
    case Sql::kAddShare:
      return "INSERT OR IGNORE INTO " + shares + kShareValues;
    case Sql::kPutShare:
      return "INSERT OR REPLACE INTO " + shares + kShareValues;
    case Sql::kRenewShare:
      return "UPDATE " + shares + " SET renewed=?3, ttl=" + RenewedTtl("?6") +
             " WHERE doc=?1 AND share=?2 AND " + kLiveHere + " AND EXISTS(SELECT 1 FROM " +
             documents + " WHERE id=?1 AND lock_id=?7" + kSoundVersion + ")";
    case Sql::kCover:
      return "INSERT INTO " + leases +
             "(doc, lock_id, renewed, ttl) VALUES(?1,?2,?3,?4) ON CONFLICT(doc) DO UPDATE SET "
             "ttl=" +
             RenewedTtl("?4", std::string("CASE WHEN lock_id=?2 THEN ") + kLeft + " ELSE 0 END") +
             ", lock_id=?2, renewed=?3";
    case Sql::kSharedId:
      return "SELECT id, lock_version FROM " + documents + " WHERE key=?1 AND lock_id=?2" +
             kSoundVersion;
    case Sql::kLeaveShared:
      return "DELETE FROM " + shares + " WHERE doc=?1 AND share=?2 AND " + kLiveHere +
             " AND EXISTS(SELECT 1 FROM " + shares + " WHERE doc=?1 AND share<>?2 AND " +
             kLiveHere + ")";
    case Sql::kDeleteShare:
      return "DELETE FROM " + shares + " WHERE doc=?1 AND share=?2";
    case Sql::kDeleteShares:
      return "DELETE FROM " + shares + " WHERE doc=?1";
    case Sql::kQueue:
      return "SELECT place, lock_id, renewed, until, boot, slot, detached, ttl, min_hold, owner, "
             "name, max_holders FROM " +
             tables.quoted_queue() + " WHERE doc=?1 ORDER BY place";
    case Sql::kPutEntry:
      return "INSERT OR REPLACE INTO " + tables.quoted_queue() +
             "(doc, place, lock_id, renewed, until, boot, slot, detached, ttl, min_hold, owner, "
             "name, max_holders) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,NULLIF(?12,''),?13)";
    case Sql::kDeleteEntry:
      return "DELETE FROM " + tables.quoted_queue() + " WHERE doc=?1 AND place=?2";
    case Sql::kDeleteQueue:
      return "DELETE FROM " + tables.quoted_queue() + " WHERE doc=?1";
  }
  return {};
}

}  // namespace doclock::sqlite
