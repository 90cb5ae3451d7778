#pragma once

/// @file
/// Worker: makes the steps of documents that fall due, again if one fails.

#include <concepts>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/detail/facade.h"
#include "doclock/detail/misuse.h"
#include "doclock/detail/worker.h"
#include "doclock/filter.h"
#include "doclock/lock_manager.h"
#include "doclock/locking_repository.h"
#include "doclock/time.h"
#include "doclock/transaction.h"
#include "doclock/work.h"

namespace doclock {

/// Makes the steps of documents that fall due, such as sagas and jobs: one at a time for each
/// document, under its lock, again after a pause if one fails, by any number of threads and
/// processes.
///
/// ```cpp
/// struct Payment { std::string id; Stage stage; doclock::Attempts attempts = {}; };
///
/// doclock::Worker worker(payments, &Payment::attempts, doclock::Filter(),
///                        [&](Payment& payment, doclock::Transaction& transaction) {
///                          payment.stage = Stage::kPaid;
///                          outbox.Add(transaction, {.payload = payment.id});
///                          return doclock::Next::Done();
///                        });
/// ```
///
/// **A step is one commit** of the entity as the step leaves it, and of what it adds to the
/// transaction: handles, `Save(repository, std::move(snapshot))`, messages, and all that
/// doclock::Update's function may add. The worker commits. A step that needs no transaction may be
/// `Next(T&)`, which works with stores that have none. If the step throws, or its commit is
/// refused, nothing of it is stored. Another step may follow although the earlier one took effect
/// outside of doclock, as by a call of a service: let that be repeatable.
///
/// **Failures.** Classify tells what an exception means. kRetryNow: the step is made again, from
/// what is stored, up to five times under the same lock. kRetryLater, kRetryNow
/// after that, and kStop while the worker goes on: the step is counted, and due again after a
/// pause. kDeadLetter and kAcknowledge are counted and park the document at once, as does a
/// document that T cannot read. A step that ends because the lease is lost, the worker stops, the
/// LockManager closes or the commit is in doubt is not counted.
///
/// **Outages.** When steps of three different documents fail in a row, what all of them need may be
/// away. Until a step succeeds, one failure of ten counts, for the document that it meets. The
/// others make the document due again after as long as the outage has lasted, up to `retry_max`.
///
/// **Interruptions.** A worker that takes over a lock whose holder did not release it, as one that
/// was killed, counts that before the step. The twentieth in a row parks the document. A step that
/// kills its process interrupts those of the other threads as well: give such steps a worker with
/// one thread.
///
/// Documents go by the date on which they fell due. A document in which `due` is no date, or
/// `parked` no boolean, is never due: it counts as parked.
///
/// Thread-safe. Keeps the LockManager open. The destructor stops the worker, and waits for all
/// steps under way.
template <class T>
class Worker {
 public:
  /// Starts the threads. `step` is called by several threads at once, with `T&` and, if it takes
  /// one, a `Transaction&`.
  /// @param attempts the member of T; the constructor converts a T to find where T's JSON form has
  /// it
  /// @param filter conditions on the documents, without an order, a place, a limit, a lock state
  /// and Due
  /// @throws std::invalid_argument naming an option, for another filter, and if the attempts are
  /// not in T's JSON form; StoreException kRefused for a step with a Transaction if the store has
  /// none; std::system_error if a thread cannot start
  template <class F>
  Worker(const LockingRepository<T>& repository, Attempts T::*attempts, Filter filter, F step,
         WorkOptions options = {})
      : work_(std::make_shared<detail::Work>(MakeSpec(repository, attempts, std::move(filter),
                                                      std::move(step), std::move(options)))) {
    work_->Start();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Stops the worker and waits for all steps under way; but not for one that destroys it.
  ~Worker() { work_->End(); }

  /// Makes one step that is due, on this thread, and waits up to `wait` for one. For programs with
  /// a loop of their own, and tests.
  /// @throws LockException kCancelled if `stop` fires during the wait; kLost if the lock ended
  /// during the step: nothing of it is stored
  /// @throws InDoubtException if it is unknown whether the step is stored
  /// @throws StoreException if the store failed. A failed step is not counted then.
  StepOutcome RunOne(Duration wait = {}, std::stop_token stop = {}) {
    const auto work = work_;  // for a step that destroys the worker
    return work->RunOne(wait, std::move(stop));
  }

  /// Begins no step any more, and waits up to `deadline` for those under way. Returns the keys of
  /// those that have not ended; a step that calls this is among them. Steps that call this do not
  /// wait for each other. Idempotent. RunOne still works.
  std::vector<Key> Stop(Duration deadline = kForever) { return work_->Stop(deadline); }

  /// Counts the documents that match the filter's conditions. Reads all of them, but no T.
  /// @throws StoreException
  [[nodiscard]] WorkStatus Status() const { return work_->Status(); }
  /// Returns the documents that match the filter's conditions and are parked, and those without
  /// attempts that a worker understands, whose `parked` is false here. Reads all that match, but no
  /// T.
  /// @throws StoreException
  [[nodiscard]] std::vector<ParkedWork> Parked() const { return work_->Parked(); }
  /// Makes a document due now that Parked() lists, with all its attempts. Returns false, and
  /// changes nothing, if it is not parked.
  /// @throws NotFoundException if it is not there; std::invalid_argument naming a member that is
  /// stored in the place of the attempts or of an object around them; what
  /// LockingRepository::Update throws
  bool Retry(std::type_identity_t<detail::KeyArg<T>> key) const {
    return work_->Retry(std::move(key).Take());
  }
  /// Erases a document that Parked() lists. Returns false, and erases nothing, if it is not parked.
  /// @throws NotFoundException if it is not there; ConflictException if another client was quicker;
  /// LockException kBusy if it is locked; StoreException, InDoubtException
  bool Drop(std::type_identity_t<detail::KeyArg<T>> key) const {
    return work_->Drop(std::move(key).Take());
  }
  /// Creates, unless it exists, the index by which documents that are due are found. Affects speed
  /// only. @throws StoreException
  void EnsureIndexes() const { work_->EnsureIndexes(); }

 private:
  static_assert(detail::EntityCheck<T>::value);
  static_assert(std::default_initializable<T>,
                "doclock: a Worker makes a T to learn the name of its Attempts: give T a default "
                "constructor.");

  template <class F>
  class Entity final : public detail::WorkedEntity {
    using Codec = detail::Codec<T>;

   public:
    Entity(detail::BindingPtr binding, detail::LeasePtr lease, Attempts T::*attempts, F& step)
        : binding_(std::move(binding)),
          lease_(std::move(lease)),
          attempts_(attempts),
          step_(step),
          entity_(Codec::Read(*binding_->collection, detail::LeaseKey(*lease_),
                              detail::LeaseBody(*lease_))) {
      detail::FillLockFields(entity_, *lease_);
    }
    Next Step(Transaction* transaction) override {
      if constexpr (std::is_invocable_v<F&, T&, Transaction&>) {
        return std::invoke(step_, entity_, *transaction);
      } else {
        return std::invoke(step_, entity_);
      }
    }
    Body MakeBody(const Attempts& attempts) override {
      entity_.*attempts_ = attempts;
      return Codec::Over(*binding_->collection, detail::LeaseKey(*lease_),
                         detail::LeaseBody(*lease_), entity_);
    }

   private:
    const detail::BindingPtr binding_;
    const detail::LeasePtr lease_;
    Attempts T::*const attempts_;
    F& step_;
    T entity_;
  };

  template <class F>
  static detail::WorkSpec MakeSpec(const LockingRepository<T>& repository, Attempts T::*attempts,
                                   Filter filter, F step, WorkOptions options) {
    constexpr bool kTransactional = std::is_invocable_v<F&, T&, Transaction&>;
    static_assert(kTransactional || std::is_invocable_v<F&, T&>,
                  "doclock: a step cannot be called with a T& and a Transaction&, nor with a T&. "
                  "Write it as [](T& entity, doclock::Transaction& transaction) { ... }.");
    if constexpr (kTransactional) {
      static_assert(detail::ByReferenceCheck<F&, T&, Transaction&>::value);
      static_assert(std::is_convertible_v<std::invoke_result_t<F&, T&, Transaction&>, Next>,
                    "doclock: a step returns a doclock::Next, as Next::Done().");
    } else if constexpr (std::is_invocable_v<F&, T&>) {
      static_assert(detail::ByReferenceCheck<F&, T&>::value);
      static_assert(std::is_convertible_v<std::invoke_result_t<F&, T&>, Next>,
                    "doclock: a step returns a doclock::Next, as Next::Done().");
    }
    T probe{};
    probe.*attempts = detail::ProbeAttempts();
    auto path = detail::PathOf(probe.*attempts, EntityTraits<T>::ToJson(probe));
    const detail::BindingPtr binding = repository.documents().binding();
    auto read = [binding, attempts, shared = std::make_shared<F>(std::move(step))](
                    const detail::LeasePtr& lease) -> std::unique_ptr<detail::WorkedEntity> {
      return std::make_unique<Entity<F>>(binding, lease, attempts, *shared);
    };
    return {.manager = repository.manager(),
            .binding = binding,
            .filter = detail::Codec<T>::StoredFilter(filter),
            .path = std::move(path),
            .transactional = kTransactional,
            .read = std::move(read),
            .options = std::move(options)};
  }

  const std::shared_ptr<detail::Work> work_;
};

}  // namespace doclock
