#include "postgresql/operations/joined_work.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "doclock/postgresql_transaction.h"
#include "postgresql/client/failure.h"

namespace doclock::postgresql {
namespace {

/// What this library's own statements, which follow, would be read by: a key or a body in another
/// encoding, rows that another role does not see.
std::string TheSettings() {
  return " concat_ws(' ', current_setting('client_encoding'), current_setting('role'), "
         "session_user,"
         " current_setting('row_security'), current_setting('session_replication_role'))";
}

/// The transaction's number and settings, and the tables of this library. No statement may take
/// longer than the call.
std::string Before() {
  return "SELECT pg_current_xact_id()::text," + TheSettings() +
         ", (SELECT coalesce(jsonb_object_agg(oid, relname), '{}')::text FROM pg_class"
         " WHERE relname LIKE 'doclock\\_%'), set_config('statement_timeout', $1, true)";
}

/// The transaction's number and settings; and the first table of this library that was written,
/// altered, renamed or dropped, since a lock on it that is not a reader's stays for as long as that
/// counts. Those of before are $1, whatever they are called now.
std::string After() {
  return "SELECT pg_current_xact_id_if_assigned()::text," + TheSettings() +
         ", (SELECT min(coalesce($1::text::jsonb ->> relation::text, relname::text)) FROM pg_locks"
         " LEFT JOIN pg_class ON oid = relation AND relname LIKE 'doclock\\_%'"
         " WHERE pid = pg_backend_pid() AND mode NOT IN ('AccessShareLock', 'RowShareLock')),"
         " set_config('synchronous_commit', " +
         std::string(kDurableCommit) +
         ", true), set_config('client_min_messages', 'warning', true)";
}

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
  WithoutDoubt([&] { RunBetween(f); });
}

void JoinedWork::RunBetween(const std::function<void(PGconn*)>& f) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::floor<milliseconds>(deadline_ - std::chrono::steady_clock::now());
  const auto most = std::to_string(std::max(left, milliseconds(1)).count());
  const Result before = Ask(Before(), Parameters().Text(most));
  Lend(f);
  if (std::chrono::steady_clock::now() >= deadline_) {
    throw StoreException(Errc::kUnavailable,
                         "doclock: joined work took longer than the call may; nothing was written");
  }
  connection_.LiftLimit();  // it may have set others
  connection_.LimitRest(deadline_, false);
  const Result after = Ask(After(), Parameters().Text(before.Text(0, 2)));
  if (after.IsNull(0, 0) || after.Text(0, 0) != before.Text(0, 0)) RejectEnd();
  if (after.Text(0, 1) != before.Text(0, 1)) {
    Reject(
        "changed client_encoding, role, row_security or session_replication_role, and did not set "
        "them back");
  }
  if (!after.IsNull(0, 2)) Reject("wrote doclock's table " + std::string(after.Text(0, 2)));
}

void JoinedWork::Lend(const std::function<void(PGconn*)>& f) {
  PGconn* const lent = connection_.Lend();
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
  connection_.TakeBack();
}

Result JoinedWork::Ask(const std::string& sql, const Parameters& parameters) {
  connection_.SendOnce(sql, parameters);
  return std::move(connection_.Run(deadline_).back());
}

}  // namespace doclock::postgresql

namespace doclock {

void Join(Transaction& transaction, std::function<void(pg_conn*)> f) {
  if (!f) throw std::invalid_argument("doclock: joined work must not be empty");
  transaction.JoinNative(NativeHandle::kPostgresql, [f = std::move(f)](void* native) {
    static_cast<postgresql::JoinedWork*>(native)->Run(f);
  });
}

}  // namespace doclock
