#pragma once

/// @file
/// Work that is retried: Worker, what its steps may do next, and its options.

#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/detail/facade.h"
#include "doclock/document.h"
#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/lock_manager.h"
#include "doclock/locking_repository.h"
#include "doclock/time.h"
#include "doclock/transaction.h"

namespace doclock {

namespace detail {
class Work;
}

/// A member of an entity that a Worker works on: when its next step is due, and how the last ones
/// ended. A new entity has `Attempts{}`, which is due at once, or sets `due`. The worker writes the
/// rest; what a step writes here is overwritten.
struct Attempts {
  int count = 0;          ///< How many steps failed since the last one that was stored.
  int interruptions = 0;  ///< How many workers in a row left their lock behind, as a killed process
                          ///< does, since a step last ended.
  Date due{};             ///< The next step begins no earlier, by the store's clock.
  bool parked = false;    ///< No step is made until Worker::Retry or Drop.
  std::string error{};    ///< Why the last step failed. Diagnostic only.
};
/// All members, by their names.
DOCLOCK_EXPORT void to_json(nlohmann::json& out, const Attempts& attempts);
/// From that form. A missing member has its default; negative counts are zero.
/// @throws std::invalid_argument naming a member of another type
DOCLOCK_EXPORT void from_json(const nlohmann::json& in, Attempts& attempts);

/// What a Worker does with an entity after a step that succeeded. A value type.
class Next {
 public:
  /// Returns that the next step is due at once. Documents that fell due before go first.
  static Next Now() { return After({}); }
  /// Returns that the next step is due after this time, by the store's clock.
  /// @throws std::invalid_argument for a negative time
  DOCLOCK_EXPORT static Next After(Duration pause);
  /// Returns that the next step is due then, by the store's clock; at once if that is past.
  static Next At(Date due) { return {Kind::kAt, {}, due}; }
  /// Returns that the entity is stored and no further step is due. Set `due` of its Attempts, as by
  /// LockingRepository::Update, to have one made all the same. SQLite has no index for dates: where
  /// many documents are done, let a condition of the worker's filter leave them out.
  static Next Done() { return At(Date(Date::TimePoint::max())); }
  /// Returns that the document is erased.
  static Next Erase() { return {Kind::kErase, {}, {}}; }

 private:
  friend class detail::Work;
  enum class Kind : std::uint8_t { kAfter, kAt, kErase };
  Next(Kind kind, Duration pause, Date due) : kind_(kind), pause_(pause), due_(due) {}

  Kind kind_;
  Duration pause_;
  Date due_;
};

/// How a Worker works. Checked by its constructor: std::invalid_argument names the field.
struct WorkOptions {
  /// How many steps are made at once by threads of the worker, 0 to 64. With 0 the program calls
  /// Worker::RunOne.
  int threads = 1;
  /// A document is parked after this many failed steps in a row, at least 1.
  int max_attempts = 10;
  /// The pause after the first failed step. It doubles with each further one.
  Duration retry_min = std::chrono::seconds(1);
  /// The longest pause, up to a year.
  Duration retry_max = std::chrono::minutes(5);
  /// Called after a step that failed, with the document's attempts as they are stored now, and what
  /// the step or its commit threw. If storing them failed too, they are those that failed to
  /// be stored. Called by several threads at once. Must not throw.
  std::function<void(const Key&, const Attempts&, const std::exception_ptr&)> on_failure = {};
  /// Called by the worker's threads for what RunOne would throw, as while the store is away. The
  /// thread goes on after a second. Must not throw.
  std::function<void(const std::exception_ptr&)> on_error = {};
};

/// How Worker::RunOne ended.
enum class StepOutcome : std::uint8_t {
  kNone,    ///< No document was due.
  kStored,  ///< A step succeeded, and all that it changed is stored.
  kFailed,  ///< A step failed. Nothing of it is stored; it is due again after a pause.
  kParked,  ///< A step failed for the last time, or the document cannot be read, or it was
            ///< interrupted too often. The document is parked.
};

/// How many documents are in which state; for metrics and alerts.
struct WorkStatus {
  std::int64_t due = 0;      ///< A step may begin.
  std::int64_t waiting = 0;  ///< The next step is due later.
  std::int64_t locked = 0;   ///< A step is under way, or another client has the lock.
  std::int64_t parked = 0;   ///< As Worker::Parked returns them.
  std::int64_t done = 0;     ///< No further step is due: Next::Done.
};

/// A document that is parked.
struct ParkedWork {
  Key key;            ///< Its key.
  Attempts attempts;  ///< Its attempts; see Worker::Parked.
};

}  // namespace doclock

namespace doclock::detail {

/// An entity under its lock.
class WorkedEntity {
 public:
  WorkedEntity() = default;
  WorkedEntity(const WorkedEntity&) = delete;
  WorkedEntity& operator=(const WorkedEntity&) = delete;
  virtual ~WorkedEntity() = default;
  /// @param transaction null for a step that takes none
  virtual Next Step(Transaction* transaction) = 0;
  /// Returns the body to store.
  virtual Body MakeBody(const Attempts&) = 0;
};

struct WorkSpec {
  LockManager manager;
  BindingPtr binding;
  Filter filter = {};                  ///< As stored; see Codec::StoredFilter.
  std::vector<std::string> path = {};  ///< Where the attempts are in a body.
  bool transactional = false;          ///< Does the step take a Transaction?
  std::function<std::unique_ptr<WorkedEntity>(const LeasePtr&)> read = {};
  WorkOptions options = {};
};

/// Returns where in an entity's JSON form the attempts are that are unlike any others.
/// @throws std::invalid_argument if they are nowhere, or a name on the way has a dot
DOCLOCK_EXPORT std::vector<std::string> PathOf(const Attempts& unlike_others,
                                               const nlohmann::json& tree);
/// Attempts unlike any others.
DOCLOCK_EXPORT Attempts ProbeAttempts();

/// What all threads of a worker share.
class DOCLOCK_EXPORT Work : public std::enable_shared_from_this<Work> {
 public:
  /// @throws std::invalid_argument naming an option, or what the filter must not have
  explicit Work(WorkSpec spec);
  /// Starts the threads. If one cannot start, ends the others, and throws std::system_error.
  void Start();
  /// Stops, and waits for the threads; but not for the thread that calls it.
  void End() noexcept;

  StepOutcome RunOne(Duration wait, std::stop_token stop);
  std::vector<Key> Stop(Duration deadline);
  [[nodiscard]] WorkStatus Status() const;
  [[nodiscard]] std::vector<ParkedWork> Parked() const;
  bool Retry(const Key& key) const;
  bool Drop(const Key& key) const;
  void EnsureIndexes() const;

 private:
  class Running;

  [[nodiscard]] Grant Search(Duration wait, std::stop_token stop) const;
  StepOutcome Run(Grant grant, const std::stop_token& stop);
  void Step(const LeasePtr& lease);
  StepOutcome Fail(const LeasePtr& lease, const std::exception_ptr& error, bool for_good);
  bool CountInterruption(const LeasePtr& lease);
  void Write(const LeasePtr& lease, WriteKind kind, const Attempts& attempts) const;
  [[nodiscard]] Attempts AttemptsIn(const Body& body) const;
  [[nodiscard]] bool HasAttempts(const Body& body) const;
  [[nodiscard]] Date In(Duration pause) const;
  [[nodiscard]] bool Counts(const Key& key);
  void NoteSuccess();
  [[nodiscard]] bool IsOutage();
  bool AwaitProbe();
  void Loop() noexcept;
  void LoopOnce();

  const WorkSpec spec_;
  const Filter due_, parked_, without_attempts_;

  std::stop_source stop_;
  std::vector<std::jthread> threads_;
  /// Held by the one thread that waits for a document to fall due: so a write wakes one search.
  std::mutex waiting_;
  std::mutex probing_;  ///< In an outage: held by the one thread that works.

  std::mutex mutex_;                     ///< Guards all below.
  std::condition_variable_any changed_;  ///< A step ended, or an outage did.
  std::list<std::pair<std::thread::id, Key>> running_;
  /// The documents whose steps failed since one succeeded, up to those that make an outage.
  std::set<Key> failed_;
  std::optional<Key> probe_;  ///< In an outage: the document whose failures count.
  int probes_ = 0;            ///< How many steps failed in it.
};

}  // namespace doclock::detail

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
/// what is stored, up to five times under the same lock. kRetryLater, and kRetryNow after that: it
/// is counted, and due again after a pause. Any other is counted and parks the document at once:
/// so does what T cannot read. A step that ends because the lease is lost, the LockManager closed
/// or the commit in doubt is not counted.
///
/// **Outages.** When steps of three different documents fail in a row, what all of them need may be
/// away. Until one succeeds, only failures of one of them count, and the worker's threads make one
/// step at a time, after pauses that grow as those of a document do.
///
/// **Interruptions.** A worker that takes over a lock whose holder did not release it, as one that
/// was killed, counts that before the step. The twentieth in a row parks the document.
///
/// Documents go by the date on which they fell due. A document in which `due` is missing or no date
/// is never due; Parked() lists those in which it is missing.
///
/// Thread-safe. Keeps the LockManager open. The destructor stops the worker, and waits for all
/// steps under way.
template <class T>
class Worker {
 public:
  /// Starts the threads. `step` is called by several threads at once, with `T&` and, if it takes
  /// one, a `Transaction&`.
  /// @param attempts the member of T; found by its name in T's JSON form
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
    return work_->RunOne(wait, std::move(stop));
  }

  /// Begins no step any more, and waits up to `deadline` for those under way. Returns the keys of
  /// those that have not ended; a step that calls this is among them. Idempotent. RunOne still
  /// works.
  std::vector<Key> Stop(Duration deadline = kForever) { return work_->Stop(deadline); }

  /// Counts the documents that match the filter's conditions. Reads all of them, but no T.
  /// @throws StoreException
  [[nodiscard]] WorkStatus Status() const { return work_->Status(); }
  /// Returns the documents that match the filter's conditions and are parked, and those that lack
  /// attempts, whose `parked` is true here. Reads no T.
  /// @throws StoreException
  [[nodiscard]] std::vector<ParkedWork> Parked() const { return work_->Parked(); }
  /// Makes a document due now that is parked or lacks attempts, with all its attempts. Returns
  /// false if it is neither.
  /// @throws NotFoundException if it is not there; what LockingRepository::Update throws
  bool Retry(std::type_identity_t<detail::KeyArg<T>> key) const {
    return work_->Retry(std::move(key).Take());
  }
  /// Erases a document that is parked. Returns false, and erases nothing, if it is not parked.
  /// @throws NotFoundException if it is not there; ConflictException if another client was quicker;
  /// LockException kBusy if it is locked; StoreException, InDoubtException
  bool Drop(std::type_identity_t<detail::KeyArg<T>> key) const {
    return work_->Drop(std::move(key).Take());
  }
  /// Creates, unless they exist, the indexes by which documents that are due or parked are found.
  /// Affects speed only. @throws StoreException
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
      static_assert(std::is_convertible_v<std::invoke_result_t<F&, T&, Transaction&>, Next>,
                    "doclock: a step returns a doclock::Next, as Next::Done().");
    } else if constexpr (std::is_invocable_v<F&, T&>) {
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
