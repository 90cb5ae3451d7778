#pragma once

#include <optional>
#include <string>

#include "doclock/store/record_store.h"
#include "rules/lock_state.h"

namespace doclock::records {

/// A record whose lock has been read.
struct Stored {
  rules::LockState lock;
  Body body;
  bool malformed = false;  ///< The lock is not what this library writes, and `lock` is empty.
};

/// The operations of store.h inside one transaction, at one moment: load, let the lock core
/// (rules/) decide, put.
class Step {
 public:
  Step(RecordStore::Transaction& transaction, std::string run, TimePoint now)
      : transaction_(transaction), run_(std::move(run)), now_(now) {}

  void Execute(StoreOp& op);
  void Execute(AcquireOp& op);
  /// Acquires the lock of a stored document; the key is op.key.
  void Acquire(AcquireOp& op, Stored& stored);
  /// False: the lock is not held, and `what` needs a holder.
  [[nodiscard]] bool Intervene(const Key& key, Stored& stored, Intervention what);
  void Purge(const Key& key, Stored& stored);

  [[nodiscard]] std::optional<Stored> Load(const Key& key);
  [[nodiscard]] Stored Read(Record&& record) const;

  /// Is there something to commit?
  [[nodiscard]] bool changed() const noexcept { return changed_; }
  /// Was a lock freed that others may wait for, or granted to one of them?
  [[nodiscard]] bool freed() const noexcept { return freed_; }
  [[nodiscard]] TimePoint now() const noexcept { return now_; }

 private:
  void Execute(RenewOp& op);
  void Execute(WriteOp& op);
  void Execute(SaveOp& op);
  void Execute(ReadOp& op);
  void Create(AcquireOp& op);
  void Insert(SaveOp& op);
  void Put(const Key& key, const Stored& stored);
  void Erase(const Key& key);
  /// Is the body refused (a unique index, bad text)? Then the refusal is the operation's result.
  bool IsRefused(StoreOp& op, const Body& body);

  RecordStore::Transaction& transaction_;
  const std::string run_;
  const TimePoint now_;
  bool changed_ = false;
  bool freed_ = false;
};

}  // namespace doclock::records
