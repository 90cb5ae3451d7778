#pragma once

/// @file
/// The part of Worker that does not depend on T. Not for users.

#include <condition_variable>
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
#include <utility>
#include <vector>

#include "doclock/detail/engine.h"
#include "doclock/detail/facade.h"
#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/lock_manager.h"
#include "doclock/transaction.h"
#include "doclock/work.h"

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
  struct StepUnderWay {
    std::thread::id thread;
    Key key;
    bool stops = false;  ///< Is its thread inside Stop?
  };
  class Running;

  [[nodiscard]] Grant Search(Duration wait, std::stop_token stop) const;
  StepOutcome Run(Grant grant, const std::stop_token& stop);
  void Step(const LeasePtr& lease);
  StepOutcome Fail(const LeasePtr& lease, const std::exception_ptr& error, bool for_good);
  bool CountInterruption(const LeasePtr& lease);
  void Write(const LeasePtr& lease, WriteKind kind, Attempts& attempts) const;
  [[nodiscard]] Attempts AttemptsIn(const Body& body) const;
  [[nodiscard]] bool IsParked(const Body& body) const;
  [[nodiscard]] Date In(Duration pause) const;
  [[nodiscard]] std::optional<Duration> Outage(const Key& key);
  void NoteSuccess();
  void Loop() noexcept;

  const WorkSpec spec_;
  const Filter due_;

  std::stop_source stop_;
  std::vector<std::jthread> threads_;
  /// Held by the one thread that waits for a document to fall due: so a write wakes one search.
  std::mutex waiting_;

  std::mutex mutex_;                 ///< Guards all below.
  std::condition_variable changed_;  ///< A step ended, or began to wait in Stop.
  std::list<StepUnderWay> running_;
  /// The documents whose steps failed since one succeeded, up to those that make an outage.
  std::set<Key> failed_;
  TimePoint outage_began_{};
  int failures_in_outage_ = 0;  ///< Modulo the number of those of which one counts.
};

}  // namespace doclock::detail
