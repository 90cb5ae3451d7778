#include <sqlite3.h>

#include <stdexcept>
#include <utility>

#include "doclock/stores/sqlite.h"
#include "doclock/transaction.h"

namespace doclock {
namespace {

/// What is doclock's in a file: its tables, and their indexes.
bool IsOurs(const char* name) noexcept {
  return name != nullptr && sqlite3_strnicmp(name, "doclock_", 8) == 0;
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

/// Ends what joined work has left running, which would keep the transaction open. None of the
/// library's own statements is running then. Returns how many statements there are.
int EndStatements(sqlite3* database) noexcept {
  int count = 0;
  for (sqlite3_stmt* statement = sqlite3_next_stmt(database, nullptr); statement != nullptr;
       statement = sqlite3_next_stmt(database, statement)) {
    if (sqlite3_stmt_busy(statement) != 0) sqlite3_reset(statement);
    ++count;
  }
  return count;
}

/// Refuses what joined work may not do, as long as it lives.
class Authorizer {
 public:
  explicit Authorizer(sqlite3* database) noexcept : database_(database) {
    sqlite3_set_authorizer(database_, Authorize, nullptr);
    // A conflict clause rolls the transaction back (INSERT OR ROLLBACK), as a full disk may. What
    // goes on after that would be committed by itself.
    const auto refuse = [](void*) { return 1; };
    sqlite3_commit_hook(database_, refuse, nullptr);
    const auto note = [](void* ended) { *static_cast<bool*>(ended) = true; };
    sqlite3_rollback_hook(database_, note, &ended_);
  }
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;
  ~Authorizer() {
    sqlite3_set_authorizer(database_, nullptr, nullptr);
    sqlite3_commit_hook(database_, nullptr, nullptr);
    sqlite3_rollback_hook(database_, nullptr, nullptr);
  }

  /// Was the transaction rolled back?
  [[nodiscard]] bool ended() const noexcept {
    return ended_ || sqlite3_get_autocommit(database_) != 0;  // the work may have set its own hooks
  }

 private:
  sqlite3* const database_;
  bool ended_ = false;
};

}  // namespace

void Join(Transaction& transaction, std::function<void(sqlite3*)> f) {
  if (!f) throw std::invalid_argument("doclock: joined work must not be empty");
  transaction.JoinNative(NativeHandle::kSqlite, [f = std::move(f)](void* native) {
    auto* const database = static_cast<sqlite3*>(native);
    const int before = EndStatements(database);
    const Authorizer authorizer(database);
    try {
      f(database);
    } catch (...) {
      EndStatements(database);
      throw;
    }
    const bool left_open = EndStatements(database) > before;
    if (authorizer.ended()) {
      throw std::logic_error("doclock: joined work ended the transaction; nothing was written");
    }
    if (left_open) {
      throw std::logic_error("doclock: joined work left a statement open; nothing was written");
    }
  });
}

}  // namespace doclock
