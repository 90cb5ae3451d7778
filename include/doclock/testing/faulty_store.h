#pragma once

/// @file
/// A store that fails, and another client that takes locks away.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "doclock/document.h"
#include "doclock/export.h"
#include "doclock/store/store.h"
#include "doclock/time.h"

namespace doclock::testing {

/// A fault of one operation. A read whose reply is lost is kFailed (kUnavailable), never in doubt.
/// When the next document is acquired, kLostAfter tells its key, as stores do that choose before
/// they write; kLostBefore and kLate do not.
struct Fault {
  /// The effect of the fault.
  enum class Kind {
    kErrorBefore,  ///< kFailed (kUnavailable), without effect.
    kRefused,      ///< kFailed (kRefused), without effect.
    kLostBefore,   ///< The request never arrives: kInDoubt, without effect.
    kLostAfter,    ///< The reply is lost: kInDoubt, with effect.
    kLate,         ///< kInDoubt now; the effect comes when ReleaseLate() is called.
    kThrow,        ///< Execute throws std::bad_alloc before any effect.
  };
  Kind kind = Kind::kErrorBefore;           ///< The effect of the fault.
  std::optional<OpKind> op = std::nullopt;  ///< Only with operations of this kind; none: any.
  std::optional<Key> key = std::nullopt;    ///< Only with this document; none: any.
  int skip = 0;                             ///< Let this many matching operations through first.
  int times = 1;                            ///< Strike this often, then no more. INT_MAX: always.
};

/// A store that wraps another one and fails on request. Thread-safe.
class DOCLOCK_EXPORT FaultyStore : public Store {
 public:
  /// Wraps `inner`.
  explicit FaultyStore(std::shared_ptr<Store> inner);
  ~FaultyStore() override;

  /// Adds a fault. The first one that matches an operation strikes.
  void Inject(Fault fault);
  /// Removes all faults. Returns how many of them never struck: a test that expects a fault checks
  /// that there are none.
  int Heal();
  /// Executes the operations held back by kLate now, in order; returns how many.
  int ReleaseLate();
  /// Returns how many operations of a kind ran since the last Reset, faulty ones included.
  [[nodiscard]] int Count(OpKind kind) const;
  /// Returns the number of Execute and Commit calls since the last Reset.
  [[nodiscard]] int Calls() const;
  /// Sets the counters to zero.
  void Reset();
  /// Sets a hook that runs before each Execute and Commit, on its thread (to inspect the
  /// operations, or to move a ManualClock). Empty: no hook.
  void OnExecute(std::function<void(std::span<StoreOp* const>)> hook);
  /// Drops the inner store's hints, so that waiters poll. Default: they pass.
  void DropHints(bool drop);

  StoreTraits traits() const noexcept override;
  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override;
  std::shared_ptr<Collection> Find(const std::string& name) const override;
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override;
  /// The first operation that a fault strikes decides for all of them. kRefused refuses that one,
  /// and kErrorBefore fails the commit as a whole.
  void Commit(CommitOp& commit, std::chrono::milliseconds budget) override;
  void ReadTogether(std::span<StoreOp* const> reads, std::chrono::milliseconds budget) override;
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override;
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override;
  std::chrono::system_clock::time_point WallTime(std::chrono::milliseconds budget) override;
  void EnsureIndex(Collection& collection, const IndexSpec& index) override;
  std::int64_t Purge(Collection& collection, std::int64_t limit,
                     std::chrono::milliseconds budget) override;
  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override;
  LockPage ListLocks(Collection& collection, const LockQuery& query, const std::string& after,
                     std::chrono::milliseconds budget) override;
  std::vector<std::string> ListCollections(std::chrono::milliseconds budget) override;
  std::vector<Finding> Examine(Collection* collection, std::chrono::milliseconds budget) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Ends a lease now, as if its time had run out; the lock is not granted to another client. The
/// document's version rises by one. Shares are released. A lease that is over stays as it is.
/// @throws NotFoundException if there is no such document; LockException (kNotOwner) if it is not
/// locked.
DOCLOCK_EXPORT void ExpireLock(Store& store, const std::string& collection, const Key& key);

/// Releases the lock, and all its shares, for its holders, as LockAdmin::Break does. Its holder
/// finds out at its next renewal or write.
/// @throws NotFoundException if there is no such document; LockException (kNotOwner) if it is not
/// locked.
DOCLOCK_EXPORT void BreakLock(Store& store, const std::string& collection, const Key& key);

/// Grants the lock to another client now, as if the lease had run out unnoticed. Its holder finds
/// out at its next renewal or write. @throws NotFoundException if there is no such document;
/// LockException (kBusy) if the lock has no holder, and is not available all the same.
DOCLOCK_EXPORT void StealLock(Store& store, const std::string& collection, const Key& key);

}  // namespace doclock::testing
