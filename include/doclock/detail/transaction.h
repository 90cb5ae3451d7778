#pragma once

/// @file
/// The part of Transaction that does not depend on T. Not for users.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "doclock/detail/async.h"
#include "doclock/detail/engine.h"
#include "doclock/export.h"

namespace doclock {
class Transaction;
}

namespace doclock::detail {

/// What a Transaction has taken note of; shared with a CommitAsync under way.
class DOCLOCK_EXPORT TransactionState {
 public:
  /// Makes what Commit writes of a document; may throw.
  using Make = std::function<CommitPartSpec()>;
  /// Tells the handle or the snapshot the version that was stored, or that the commit was refused;
  /// must not throw.
  using Done = std::function<void(std::optional<std::int64_t> version)>;
  /// Throws what Commit throws because of this document; or returns, and Commit throws the usual.
  using Refused = std::function<void(const Failure&)>;

  explicit TransactionState(EnginePtr engine);

  [[nodiscard]] const EnginePtr& engine() const noexcept { return engine_; }
  void Add(const Binding&, const Key&, Make, Done);
  /// For the document that was added last.
  void OnRefused(Refused refused) { parts_.back().refused = std::move(refused); }
  [[nodiscard]] std::size_t size() const noexcept { return parts_.size(); }
  /// Drops what was added after the first ones.
  void KeepFirst(std::size_t count) noexcept;
  void Join(NativeHandle, std::function<void(void*)>);
  /// Calls `use` with a Transaction of this state, which it may only add to. Returns what it has
  /// noted, for the caller to commit: the Transaction itself never can.
  static CommitSpec Lend(const std::shared_ptr<TransactionState>&,
                         const std::function<void(Transaction&)>& use);
  /// Calls `use` with a Transaction of this state, which takes handles too, for Commit to follow.
  static void LendToStep(const std::shared_ptr<TransactionState>&,
                         const std::function<void(Transaction&)>& use);
  /// @throws std::logic_error if it is lent to the f of an Update, whose handles could be gone by
  /// the commit
  void CheckNotLent() const;
  /// @throws std::logic_error if it is lent: a snapshot could be gone by the commit, which is not
  /// the borrower's
  void CheckOwn() const;
  /// Is nothing noted but one document?
  [[nodiscard]] bool is_single() const noexcept { return parts_.size() == 1 && !join_; }

  /// @throws what a Make throws
  [[nodiscard]] CommitSpec MakeSpec() const;
  void Commit();
  void CommitAsync(CommitSpec, CommitDone);
  /// Takes the result of a CommitAsync over. @throws what it says
  void Settle(const CommitResult&);

 private:
  enum class Phase : std::uint8_t { kOpen, kLent, kLentToStep, kCommitting, kCommitted, kInDoubt };
  using Documents = std::set<std::pair<const Collection*, Key>>;
  struct Part {
    Make make;
    Done done;
    Documents::iterator document;
    Refused refused = nullptr;
  };

  void CheckOpen() const;
  [[nodiscard]] CommitSpec Collect() const;
  void TellRefused() const noexcept;
  void Begin();

  const EnginePtr engine_;
  Documents documents_;
  std::vector<Part> parts_;
  std::function<void(void*)> join_;
  Phase phase_ = Phase::kOpen;
};
using TransactionStatePtr = std::shared_ptr<TransactionState>;

/// Takes what was passed to a Transaction in place of a handle.
struct NoHandle {
  /// Always an error, in words.
  template <class T>
  NoHandle(const T&) {  // NOLINT(google-explicit-constructor)
    static_assert(
        sizeof(T) == 0,
        "doclock: a Transaction takes handles that may change: a Locked, a HeldLock, or a "
        "vector of them. What has no lock comes after its repository: Save(repository, "
        "snapshot), Erase(repository, snapshot)");
  }
};

/// Takes what was passed to Transaction::Insert or Expect without a repository.
struct NoRepository {
  /// Always an error, in words.
  template <class T>
  NoRepository(const T&) {  // NOLINT(google-explicit-constructor)
    static_assert(sizeof(T) == 0,
                  "doclock: a Transaction takes the repository first: Insert(repository, entity), "
                  "Insert(repository, key, entity), Expect(repository, snapshot)");
  }
};

/// The asynchronous form; see detail/async.h.
struct CommitOperation {
  using Raw = CommitResult;
  using Result = void;
  TransactionStatePtr state;
  CommitSpec spec;

  void Start(const AsyncContext&, CommitDone done) {
    state->CommitAsync(std::move(spec), std::move(done));
  }
  void Finish(Raw&& raw) { state->Settle(raw); }
};

}  // namespace doclock::detail
