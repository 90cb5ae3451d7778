#include "sqlite/writer.h"

#include <sqlite3.h>

#include <algorithm>

#include "doclock/store/record_store.h"
#include "platform/standard_numbers.h"

namespace doclock::sqlite {
namespace {

constexpr const char* kRollback = "ROLLBACK";

}  // namespace

void RequireFlushed(const ProcessCoordinator& coordinator) {
  if (!coordinator.HasFailedFlush()) return;
  throw RefusedError(std::string(kFailedFlush) + ": " + kAfterFailedFlush);
}

Writer::Writer(std::unique_ptr<Connection> connection, ProcessCoordinator& coordinator,
               const SqliteStoreOptions& options, const FileSet& files)
    : connection_(std::move(connection)),
      files_(files),
      coordinator_(coordinator),
      busy_timeout_(options.busy_timeout.ms()),
      // Without an era of its own a version that a power cut undoes would be given twice.
      flushes_(options.sync == SqliteSync::kFull && coordinator.Flushes().value_or(false)
                   ? std::optional(true)
                   : std::nullopt) {
  static_cast<void>(connection_->Prepared(kRollback));  // there may be no memory when it is needed
}

Writer::Turn::Turn(Writer& writer, Deadline deadline) : writer_(writer), deadline_(deadline) {
  if (!writer.mutex_.Enter(deadline)) {
    throw BusyError("other threads keep the database busy");
  }
  try {
    if (!writer.coordinator_.Enter(deadline)) {
      throw BusyError(writer.coordinator_.Occupant() + " keeps the database busy");
    }
  } catch (...) {
    writer.mutex_.Leave();
    throw;
  }
}

Writer::Turn::~Turn() {
  writer_.coordinator_.Leave();
  writer_.mutex_.Leave();
  writer_.coordinator_.Wake(whom_);
}

void Writer::Turn::Begin(Deadline work_deadline, bool flush) {
  work_deadline_ = work_deadline;
  writer_.connection_->SetDeadline(
      std::min(std::chrono::steady_clock::now() + writer_.busy_timeout_, deadline_), work_deadline);
  // There was no memory to end the last one.
  if (writer_.connection_->InTransaction()) writer_.RollBack();
  writer_.SetFlush(flush);
  try {
    {
      // Waits for programs that write without the coordinator.
      const Running begin(writer_.connection_->Prepared("BEGIN IMMEDIATE"));
      begin->Step();
    }
    writer_.files_.Check();  // after that wait
    RequireFlushed(writer_.coordinator_);
  } catch (...) {
    // The deadline may interrupt BEGIN when it has begun.
    writer_.RollBack();
    throw;
  }
}

bool Writer::Turn::MayNeedFlush() const noexcept { return !writer_.flushes_.value_or(true); }

void Writer::Turn::NeedFlush() {
  Connection& connection = *writer_.connection_;
  const auto seen = connection.Ask("PRAGMA data_version");
  writer_.RollBack();  // SQLite refuses the pragma inside a transaction
  Begin(work_deadline_, true);
  if (connection.Ask("PRAGMA data_version") != seen) throw RacedException();
}

void Writer::Turn::Commit() {
  try {
    const Running commit(writer_.connection_->Prepared("COMMIT"));
    commit->Step();
  } catch (const DatabaseError& error) {
    if (error.is_failed_flush()) writer_.coordinator_.NoteFailedFlush();
    throw;
  }
  if (writer_.connection_->has_failed_flush()) writer_.coordinator_.NoteFailedFlush();
}

void Writer::Turn::Announce(const std::vector<Notification>& notifications) noexcept {
  if (!notifications.empty()) whom_ |= writer_.coordinator_.Announce(notifications);
}

void Writer::Transact(Deadline deadline, const std::function<void(Connection&)>& what) {
  Turn turn(*this, deadline);
  const platform::StandardNumbersTaken taken;
  turn.Begin(Deadline::max(), true);
  try {
    what(*connection_);
    turn.Commit();
  } catch (...) {
    RollBack();
    throw;
  }
}

bool Writer::End() noexcept {
  try {
    const Running end(connection_->Prepared("COMMIT"));
    end->Step();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void Writer::SetFlush(bool flush) {
  if (!flushes_ || flush == flushes_) return;
  flushes_ = false;  // also if the pragma takes effect and fails
  connection_->Run(flush ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  flushes_ = flush;
}

void Writer::RollBack() noexcept {
  if (!connection_->InTransaction()) return;  // SQLite rolled back by itself
  try {
    const Running rollback(connection_->Prepared(kRollback));
    rollback->Step();
  } catch (...) {
    // The next turn tries again.
  }
}

}  // namespace doclock::sqlite
