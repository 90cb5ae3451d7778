#include "postgresql/joined_work.h"

#include <stdexcept>
#include <utility>

#include "postgresql/failure.h"
#include "postgresql/session.h"

namespace doclock::postgresql {
namespace {

/// The transaction's number. No statement may take longer than the call: see PostgresqlUnit::Begin.
constexpr const char* kBefore =
    "SELECT pg_current_xact_id()::text,"
    " set_config('statement_timeout', current_setting('lock_timeout'), true)";

/// The transaction's number; and the first table of this library that was written or altered, since
/// a lock on it that is not a reader's stays for as long as that counts.
const std::string kAfter =
    "SELECT pg_current_xact_id_if_assigned()::text,"
    " (SELECT min(relname) FROM pg_locks JOIN pg_class ON oid = relation"
    " WHERE pid = pg_backend_pid() AND relname LIKE 'doclock\\_%'"
    " AND mode NOT IN ('AccessShareLock', 'RowShareLock')),"
    " set_config('synchronous_commit', " +
    std::string(kDurableCommit) + ", true)";

[[noreturn]] void Reject(const std::string& what) {
  throw std::logic_error("doclock: joined work " + what + "; nothing was written");
}
/// What it committed itself is stored.
[[noreturn]] void RejectEnd() {
  throw std::logic_error("doclock: joined work ended the transaction; doclock wrote nothing");
}

void CheckState(const PGconn* connection) {
  switch (PQtransactionStatus(connection)) {
    case PQTRANS_INTRANS:
      return;
    case PQTRANS_IDLE:
      RejectEnd();
    case PQTRANS_INERROR:
      Reject("went on after a statement that failed");
    case PQTRANS_ACTIVE:
      Reject("left a COPY, results or a pipeline open");
    case PQTRANS_UNKNOWN:
      throw StoreException(Errc::kUnavailable,
                           "doclock: PostgreSQL: the connection broke in joined work");
  }
}

}  // namespace

void JoinedWork::Run(const std::function<void(PGconn*)>& f) {
  const std::string number(Ask(kBefore).Text(0, 0));
  Lend(f);
  if (std::chrono::steady_clock::now() >= deadline_) {
    throw StoreException(Errc::kUnavailable,
                         "doclock: joined work took longer than the call may; nothing was written");
  }
  const Result after = Ask(kAfter);
  if (after.Text(0, 0) != number) RejectEnd();
  if (!after.IsNull(0, 1)) Reject("wrote doclock's table " + std::string(after.Text(0, 1)));
}

void JoinedWork::Lend(const std::function<void(PGconn*)>& f) {
  PGconn* const lent = WithoutDoubt([&] { return connection_.Lend(); });
  try {
    f(lent);
    CheckState(lent);
  } catch (...) {
    try {
      connection_.TakeBack();
    } catch (const Loss&) {  // the server ends the transaction
    }
    throw;
  }
  WithoutDoubt([&] { connection_.TakeBack(); });
}

Result JoinedWork::Ask(const std::string& sql) {
  return WithoutDoubt([&] {
    connection_.SendOnce(sql);
    return std::move(connection_.Run(deadline_).back());
  });
}

}  // namespace doclock::postgresql
