// Which errors of SQLite and of the system pass by themselves.

#include "sqlite/db/database_error.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cerrno>

namespace doclock::sqlite_test {
namespace {

struct Case {
  int code;
  int error;  ///< The errno; 0: none is known.
};

TEST(SqliteError, ThatDoesNotPassByItselfIsRefused) {
  for (const auto& [code, error] : {Case{SQLITE_READONLY, 0},
                                    {SQLITE_READONLY_DIRECTORY, 0},
                                    {SQLITE_READONLY_DBMOVED, 0},
                                    {SQLITE_CORRUPT, 0},
                                    {SQLITE_NOTADB, 0},
                                    {SQLITE_PERM, 0},
                                    {SQLITE_AUTH, 0},
                                    {SQLITE_NOLFS, 0},
                                    {SQLITE_TOOBIG, 0},
                                    {SQLITE_CANTOPEN, EACCES},
                                    {SQLITE_CANTOPEN, EROFS},
                                    {SQLITE_CANTOPEN_ISDIR, 0},
                                    {SQLITE_CANTOPEN_SYMLINK, 0},
                                    {SQLITE_IOERR_WRITE, EROFS},
                                    {SQLITE_IOERR_SHMOPEN, EPERM},
                                    {SQLITE_IOERR_CORRUPTFS, 0},
                                    {SQLITE_IOERR_DATA, 0},
                                    {SQLITE_IOERR_GETTEMPPATH, 0}}) {
    EXPECT_EQ(sqlite::DatabaseError(code, "x", error).errc(), Errc::kRefused) << code;
  }
}

TEST(SqliteError, ThatMayPassByItselfIsAnOutage) {
  for (const auto& [code, error] : {Case{SQLITE_BUSY, 0},
                                    {SQLITE_BUSY_SNAPSHOT, 0},
                                    {SQLITE_LOCKED, 0},
                                    {SQLITE_ABORT_ROLLBACK, 0},
                                    {SQLITE_INTERRUPT, 0},
                                    {SQLITE_NOMEM, 0},
                                    {SQLITE_FULL, ENOSPC},
                                    {SQLITE_PROTOCOL, 0},
                                    {SQLITE_SCHEMA, 0},
                                    {SQLITE_CANTOPEN, EMFILE},
                                    {SQLITE_CANTOPEN, ENOENT},
                                    {SQLITE_IOERR_FSYNC, EIO},
                                    {SQLITE_IOERR_WRITE, EDQUOT},
                                    {SQLITE_IOERR_SHMMAP, ENOMEM}}) {
    EXPECT_EQ(sqlite::DatabaseError(code, "x", error).errc(), Errc::kUnavailable) << code;
  }
}

}  // namespace
}  // namespace doclock::sqlite_test
