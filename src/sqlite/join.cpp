#include <sqlite3.h>

#include <stdexcept>
#include <string_view>
#include <utility>

#include "doclock/sqlite_transaction.h"

namespace doclock {
namespace {

/// What is doclock's in a file: its tables, and their indexes.
bool IsOurs(const char* name) noexcept {
  return name != nullptr && std::string_view(name).starts_with("doclock_");
}

int Authorize(void*, int action, const char* first, const char* second, const char*,
              const char*) noexcept {
  switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_PRAGMA:
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return SQLITE_DENY;
    case SQLITE_READ:
    case SQLITE_SELECT:
    case SQLITE_FUNCTION:
    case SQLITE_SAVEPOINT:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    default:
      // A name of what is written, created, altered or dropped; of an index, its table's too.
      return IsOurs(first) || IsOurs(second) ? SQLITE_DENY : SQLITE_OK;
  }
}

/// Refuses what joined work may not do, as long as it lives.
class Authorizer {
 public:
  explicit Authorizer(sqlite3* database) noexcept : database_(database) {
    sqlite3_set_authorizer(database_, Authorize, nullptr);
    // Work that goes on after the transaction was rolled back would commit each statement.
    sqlite3_commit_hook(
        database_, [](void*) { return 1; }, nullptr);
  }
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;
  ~Authorizer() {
    sqlite3_set_authorizer(database_, nullptr, nullptr);
    sqlite3_commit_hook(database_, nullptr, nullptr);
  }

 private:
  sqlite3* const database_;
};

}  // namespace

void Join(Transaction& transaction, std::function<void(sqlite3*)> f) {
  transaction.JoinNative(NativeHandle::kSqlite, [f = std::move(f)](void* native) {
    auto* const database = static_cast<sqlite3*>(native);
    {
      const Authorizer authorizer(database);
      f(database);
    }
    // A conflict clause can do it: INSERT OR ROLLBACK.
    if (sqlite3_get_autocommit(database) != 0) {
      throw std::logic_error("doclock: joined work ended the transaction; nothing was written");
    }
  });
}

}  // namespace doclock
