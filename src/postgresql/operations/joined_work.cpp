#include "postgresql/operations/joined_work.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "doclock/stores/postgresql.h"
#include "doclock/transaction.h"
#include "postgresql/client/failure.h"

namespace doclock::postgresql {
namespace {

/// The transaction's number. Its statements may wait for others, and take as long as the call.
constexpr const char* kBefore =
    "SELECT pg_current_xact_id()::text, set_config('statement_timeout', $1, true),"
    " set_config('lock_timeout', '0', true)";

/// Sets it again behind the work, which may have set what the documents are written by.
std::string After() {
  return "SELECT pg_current_xact_id_if_assigned()::text, set_config('synchronous_commit', " +
         std::string(kDurableCommit) + ", true), set_config('lock_timeout', " +
         std::string(kLockTimeout) +
         ", true), set_config('client_min_messages', 'warning', true),"
         " set_config('client_encoding', 'UTF8', true)";
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
  const Result before = connection_.Ask(kBefore, Parameters().Text(most), deadline_);
  Lend(f);
  if (std::chrono::steady_clock::now() >= deadline_) {
    throw StoreException(Errc::kUnavailable,
                         "doclock: joined work took longer than the call may; nothing was written");
  }
  connection_.Command("SET LOCAL statement_timeout = 0");  // it may have set a short one
  const Result after = connection_.Ask(After(), {}, deadline_);
  if (after.IsNull(0, 0) || after.Text(0, 0) != before.Text(0, 0)) RejectEnd();
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

}  // namespace doclock::postgresql

namespace doclock {

void Join(Transaction& transaction, std::function<void(pg_conn*)> f) {
  if (!f) throw std::invalid_argument("doclock: joined work must not be empty");
  transaction.JoinNative(NativeHandle::kPostgresql, [f = std::move(f)](void* native) {
    static_cast<postgresql::JoinedWork*>(native)->Run(f);
  });
}

}  // namespace doclock
