#pragma once

#include <optional>

#include "engine/calls/procedure.h"
#include "engine/leases/lease_book.h"
#include "engine/waiting/queue_ticket.h"

namespace doclock::detail {

/// One attempt to take a lock, with doubt settled: a lost reply is neither success nor failure. It
/// confirms a grant in doubt by a renewal under its own id (only a write is a proof). A grant that
/// it cannot confirm is released in the background, and tried again under a fresh id. A wait
/// creates the document once at most.
class AcquireProcedure final : public Procedure {
 public:
  /// Tries to settle doubt until `give_up`. `spec` must outlive the procedure. `upsert_id`: of an
  /// earlier attempt. `ticket`: of a waiter that stands in the store's queue; it must outlive the
  /// procedure too. A grant uses it up.
  AcquireProcedure(LeaseBook& book, const AcquireSpec& spec, TimePoint give_up,
                   const Uuid& upsert_id = {}, QueueTicket* ticket = nullptr);

  Step Next() override;

  /// The caller's failure; set unless granted.
  FailurePtr TakeFailure();
  /// Did the last attempt place the waiter's entry behind others? Nothing: it placed none.
  [[nodiscard]] std::optional<int> queued_behind() const noexcept;
  /// The id of the attempt that created the document, or may have. Later attempts of the same wait
  /// do not create it again: another client may have erased it. Nil: none.
  [[nodiscard]] const Uuid& upsert_id() const noexcept { return upsert_id_; }
  /// What was granted; only if `lease` is set.
  AcquireResult TakeGranted() noexcept;
  LeasePtr lease;
  Body body;
  bool created = false;

 private:
  enum class State : std::uint8_t { kStart, kLook, kAcquire, kConfirm, kRead, kFinished };

  Step Start();
  /// Makes it an attempt of the waiter's ticket.
  void Enter() noexcept;
  Step Acquire();
  /// Does the document show the grant that a hint told of? Otherwise the attempt tells.
  Step AfterLook();
  Step AfterAcquire();
  Step AfterConfirm();
  Step AfterRead();
  Step Confirm(std::chrono::nanoseconds pause);
  Step TryAgain();
  /// The attempt's lock may have been granted, or may still be.
  void ReleaseGhost() noexcept;
  Step Granted(std::int64_t version, const Uuid& born, Body stored, TimePoint sent,
               bool passed_on = false);
  Step Finish(const StoreOp& op);
  Step FinishInDoubt();

  /// Did an attempt create the document, with or without a reply? See AcquireOp::Result::born.
  [[nodiscard]] bool MadeByUs(const Uuid& born) const noexcept {
    return !upsert_id_.is_nil() && born == upsert_id_;
  }

  LeaseBook& book_;
  StoreCalls& calls_;
  const AcquireSpec& spec_;
  const TimePoint give_up_;
  QueueTicket* const ticket_;  ///< Null: it leaves no entry.
  bool repeated_ = false;      ///< Were there earlier attempts under the ticket's id?
  Uuid upsert_id_;
  AcquireOp acquire_;
  RenewOp confirm_;
  ReadOp read_;
  TimePoint sent_{};
  TimePoint confirm_sent_{};
  Backoff backoff_;
  int ghosts_ = 0;  ///< Attempts that may still reach the store.
  State state_ = State::kStart;
  OpStatus status_ = OpStatus::kPending;
  FailurePtr failure_;
};

}  // namespace doclock::detail
