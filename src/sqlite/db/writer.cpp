#include "sqlite/db/writer.h"

#include <sqlite3.h>

#include <algorithm>

#include "platform/standard_numbers.h"

namespace doclock::sqlite {
namespace {

/// A transaction that began this soon did not wait, and the files are those checked just before.
constexpr std::chrono::milliseconds kNoWait{1};
constexpr const char* kRollback = "ROLLBACK";

/// Results that report a change are void after a rollback; those that report what was found stay.
void Void(std::span<StoreOp* const> ops) noexcept {
  for (StoreOp* op : ops) {
    if (op->status == OpStatus::kDone) op->status = OpStatus::kPending;
    if (op->kind == OpKind::kAcquire) static_cast<AcquireOp*>(op)->queued = false;
  }
}

void FailUnlessTold(std::span<StoreOp* const> ops, const DatabaseError& error) {
  Void(ops);  // first: memory may run out
  for (StoreOp* op : ops) {
    if (op->status == OpStatus::kPending) op->Fail(error.errc(), error.what());
  }
}

/// For another attempt, after a rollback.
void Reset(std::span<StoreOp* const> ops) noexcept {
  for (StoreOp* op : ops) {
    op->status = OpStatus::kPending;
    op->detail.reset();
  }
}

}  // namespace

Writer::Writer(std::unique_ptr<Connection> connection, ProcessCoordinator& coordinator,
               const Surroundings& surroundings, std::chrono::milliseconds busy_timeout,
               const FileSet& files)
    : connection_(std::move(connection)),
      files_(files),
      coordinator_(coordinator),
      around_(surroundings),
      busy_timeout_(busy_timeout) {
  static_cast<void>(connection_->Prepared(kRollback));  // there may be no memory when it is needed
}

Writer::Turn::Turn(Writer& writer, Deadline deadline, Deadline work_deadline)
    : writer_(writer), deadline_(deadline), work_deadline_(work_deadline) {
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

void Writer::Turn::Begin() {
  const Deadline start = std::chrono::steady_clock::now();
  writer_.connection_->SetDeadline(std::min(start + writer_.busy_timeout_, deadline_),
                                   work_deadline_);
  // There was no memory to end the last one.
  if (writer_.connection_->InTransaction()) writer_.RollBack();
  // Before the index is read: it may have been truncated.
  const std::int64_t log = writer_.files_.Check();
  CheckLog(*writer_.connection_, writer_.files_.database(), log);
  try {
    {
      // Waits for programs that write without the coordinator.
      const Running begin(writer_.connection_->Prepared("BEGIN IMMEDIATE"));
      begin->Step();
    }
    if (std::chrono::steady_clock::now() - start < kNoWait) return;
    writer_.files_.Check();
  } catch (...) {
    // The deadline may interrupt BEGIN when it has begun.
    writer_.RollBack();
    throw;
  }
}

void Writer::Turn::Commit() {
  const Running commit(writer_.connection_->Prepared("COMMIT"));
  commit->Step();
  writer_.around_.owners.Committed();
}

void Writer::Turn::Announce(const std::vector<Notification>& notifications) noexcept {
  if (!notifications.empty()) whom_ |= writer_.coordinator_.Announce(notifications);
}

void Writer::Execute(std::span<StoreOp* const> ops, Deadline deadline) {
  try {
    Turn turn(*this, deadline, deadline);
    if (TryAll(ops, turn)) return;
    // One of them may be too large for the rest of the disk; the others must not fail with it.
    for (StoreOp* op : ops) ExecuteAlone(*op, turn);
  } catch (const DatabaseError& error) {
    FailUnlessTold(ops, error);
  }
}

void Writer::ExecuteAlone(StoreOp& op, Turn& turn) {
  StoreOp* const alone = &op;
  try {
    TryAll({&alone, 1}, turn);
  } catch (const DatabaseError& error) {
    op.Fail(error.errc(), error.what());
  }
}

bool Writer::TryAll(std::span<StoreOp* const> ops, Turn& turn) {
  const platform::StandardNumbersTaken taken;  // SQLite opens folders and temporary files
  turn.Begin();
  Operations operations(*connection_, around_, renewal_rows_);
  try {
    for (StoreOp* op : ops) operations.Execute(*op);
  } catch (const DatabaseError& error) {
    RollBack();
    if (ops.size() > 1) {
      Reset(ops);
      return false;
    }
    FailUnlessTold(ops, error);
    return true;
  } catch (...) {
    RollBack();
    Reset(ops);
    throw;
  }
  try {
    turn.Commit();
  } catch (const DatabaseError& error) {
    Settle(ops, operations, error);
  } catch (...) {
    RollBack();
    Reset(ops);
    throw;
  }
  turn.Announce(operations.notifications());
  return true;
}

void Writer::Transact(Deadline deadline, const std::function<void(Connection&)>& what) {
  Turn turn(*this, deadline, Deadline::max());
  const platform::StandardNumbersTaken taken;
  turn.Begin();
  try {
    what(*connection_);
    turn.Commit();
  } catch (...) {
    RollBack();
    throw;
  }
}

/// The commit failed; its changes may or may not be undone. If memory runs out here, what is not
/// settled yet stays kPending.
void Writer::Settle(std::span<StoreOp* const> ops, Operations& operations,
                    const DatabaseError& error) {
  RollBack();
  Void(ops);
  // If the rollback failed too, this connection would take its own changes for committed ones.
  const bool looks = !connection_->InTransaction();
  // A transaction that found no room on the disk is incomplete, and SQLite drops it. After other
  // errors all of it may stand in the log, and take effect if the log is read again, unless the
  // next transaction overwrites it.
  const bool gone = looks && (error.is_without_effect() || Overwrite());
  for (StoreOp* op : ops) {
    if (op->status != OpStatus::kPending) continue;
    try {
      if (looks && operations.IsVisible(*op)) {
        op->status = OpStatus::kDone;
      } else if (gone) {
        op->Fail(error.errc(), error.what());
      } else {
        op->Doubt(error.what());
      }
    } catch (const DatabaseError&) {
      op->Doubt(error.what());
    }
  }
}

bool Writer::Overwrite() noexcept {
  try {
    // A different value: SQLite writes nothing if the bytes stay the same.
    connection_->Run(
        "BEGIN IMMEDIATE; INSERT INTO doclock_meta VALUES('settled', 1) "
        "ON CONFLICT(name) DO UPDATE SET value=value+1; COMMIT");
    return true;
  } catch (const std::exception&) {
    RollBack();
    return false;
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

void Writer::RollBack() noexcept {
  renewal_rows_.Clear();
  around_.owners.RolledBack();
  if (!connection_->InTransaction()) return;  // SQLite rolled back by itself
  try {
    const Running rollback(connection_->Prepared(kRollback));
    rollback->Step();
  } catch (...) {
    // The next turn tries again.
  }
}

}  // namespace doclock::sqlite
