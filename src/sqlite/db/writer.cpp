#include "sqlite/db/writer.h"

#include <sqlite3.h>

#include <algorithm>

namespace doclock::sqlite {
namespace {

/// A transaction that began this soon did not wait, and the files are those checked just before.
constexpr std::chrono::milliseconds kNoWait{1};

/// Results that report a change are void after a rollback; those that report what was found stay.
void FailUnlessTold(std::span<StoreOp* const> ops, Errc code, const std::string& text) {
  for (StoreOp* op : ops) {
    if (op->status == OpStatus::kDone || op->status == OpStatus::kPending) op->Fail(code, text);
  }
}

void Reset(StoreOp& op) {
  op.status = OpStatus::kPending;
  op.detail.reset();
}

}  // namespace

/// Our turn to write: the queue of this process's threads, then that of the processes, and a
/// notification afterwards.
class Writer::Turn {
 public:
  Turn(Writer& writer, Deadline deadline, Deadline work_deadline)
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
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    writer_.coordinator_.Leave();
    writer_.mutex_.Leave();
    if (announced_) writer_.coordinator_.Wake();
  }

  void Begin() {
    const Deadline start = std::chrono::steady_clock::now();
    writer_.connection_->SetDeadline(std::min(start + writer_.busy_timeout_, deadline_),
                                     work_deadline_);
    writer_.CheckFiles();
    {
      // Waits for programs that write without the coordinator.
      const Running begin(writer_.connection_->Prepared("BEGIN IMMEDIATE"));
      begin->Step();
    }
    if (std::chrono::steady_clock::now() - start < kNoWait) return;
    try {
      writer_.files_.Check();
    } catch (...) {
      writer_.RollBack();
      throw;
    }
  }

  void Commit() {
    const Running commit(writer_.connection_->Prepared("COMMIT"));
    commit->Step();
    writer_.around_.owners.Committed();
  }

  void Announce(const std::vector<Notification>& notifications) noexcept {
    if (notifications.empty()) return;
    writer_.coordinator_.Announce(notifications);
    announced_ = true;
  }

 private:
  Writer& writer_;
  Deadline deadline_;
  Deadline work_deadline_;
  bool announced_ = false;
};

void Writer::Execute(std::span<StoreOp* const> ops, Deadline deadline) {
  Execute(ops, deadline,
          [](Operations& operations, Connection&, StoreOp& op) { operations.Execute(op); });
}

void Writer::Execute(std::span<StoreOp* const> ops, Deadline deadline, const Perform& perform) {
  try {
    Turn turn(*this, deadline, deadline);
    if (TryAll(ops, turn, perform)) return;
    // One of them may be too large for the rest of the disk; the others must not fail with it.
    for (StoreOp* op : ops) ExecuteAlone(*op, turn, perform);
  } catch (const DatabaseError& error) {
    FailUnlessTold(ops, error.errc(), error.what());
  }
}

void Writer::ExecuteAlone(StoreOp& op, Turn& turn, const Perform& perform) {
  StoreOp* const alone = &op;
  Reset(op);
  try {
    TryAll({&alone, 1}, turn, perform);
  } catch (const DatabaseError& error) {
    op.Fail(error.errc(), error.what());
  }
}

bool Writer::TryAll(std::span<StoreOp* const> ops, Turn& turn, const Perform& perform) {
  turn.Begin();
  Operations operations(*connection_, around_, places_);
  try {
    for (StoreOp* op : ops) perform(operations, *connection_, *op);
  } catch (const DatabaseError& error) {
    RollBack();
    if (ops.size() > 1) return false;
    FailUnlessTold(ops, error.errc(), error.what());
    return true;
  } catch (...) {
    RollBack();
    for (StoreOp* op : ops) Reset(*op);
    throw;
  }
  try {
    turn.Commit();
  } catch (const DatabaseError& error) {
    Settle(ops, operations, error);
  } catch (...) {
    RollBack();
    for (StoreOp* op : ops) Reset(*op);
    throw;
  }
  turn.Announce(operations.notifications());
  return true;
}

void Writer::Transact(Deadline deadline,
                      const std::function<void(Operations&, Connection&)>& what) {
  Turn turn(*this, deadline, Deadline::max());
  turn.Begin();
  Operations operations(*connection_, around_, places_);
  try {
    what(operations, *connection_);
    turn.Commit();
  } catch (...) {
    RollBack();
    throw;
  }
  turn.Announce(operations.notifications());
}

/// The commit failed; its changes may or may not be undone.
void Writer::Settle(std::span<StoreOp* const> ops, Operations& operations,
                    const DatabaseError& error) {
  RollBack();
  // A transaction that found no room on the disk is incomplete, and SQLite drops it. After other
  // errors all of it may stand in the log, and take effect if the log is read again, unless the
  // next transaction overwrites it.
  const bool gone =
      error.primary_code() == SQLITE_FULL || error.primary_code() == SQLITE_BUSY || Overwrite();
  for (StoreOp* op : ops) {
    if (op->status != OpStatus::kDone) continue;
    try {
      if (operations.IsVisible(*op)) continue;
      if (gone) {
        op->Fail(error.errc(), error.what());
      } else {
        op->Doubt(error.what());
      }
    } catch (const DatabaseError&) {
      op->Doubt(error.what());
    }
  }
}

void Writer::CheckFiles() {
  files_.Check();
  CheckLog(*connection_, files_.database());
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

void Writer::RollBack() noexcept {
  places_.Clear();
  around_.owners.RolledBack();
  if (!connection_->InTransaction()) return;  // SQLite rolled back by itself
  try {
    connection_->Run("ROLLBACK");
  } catch (...) {
    // Then the next BEGIN reports it.
  }
}

}  // namespace doclock::sqlite
