#pragma once

/// @file
/// What the steps of a Worker may do next, how they ended, and the options of a Worker.

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "doclock/document.h"
#include "doclock/export.h"
#include "doclock/time.h"

namespace doclock {

namespace detail {
class Work;
}

/// A member of an entity that a Worker works on: when its next step is due, and how the last ones
/// ended. A new entity has `Attempts{}`, which is due at once, or sets `due`. The worker writes the
/// rest; what a step writes here is overwritten.
struct Attempts {
  int failures = 0;       ///< How many counted steps failed since the last one that was stored.
  int interruptions = 0;  ///< How many workers in a row left their lock behind, as a killed process
                          ///< does, since a step last ended.
  Date due{};             ///< The next step begins no earlier, by the store's clock.
  bool parked = false;    ///< No step is made until Worker::Retry or Drop.
  std::string error{};    ///< Why the last step failed. Diagnostic only.
};
/// Writes all members, by their names.
DOCLOCK_EXPORT void to_json(nlohmann::json& out, const Attempts& attempts);
/// Reads attempts that to_json wrote. A missing member has its default; negative numbers are zero.
/// @throws std::invalid_argument naming a member of another type
DOCLOCK_EXPORT void from_json(const nlohmann::json& in, Attempts& attempts);

/// What a Worker does with an entity after a step that succeeded. A value type.
class Next {
 public:
  /// Makes the next step due at once. Documents that fell due before go first.
  static Next Now() { return After({}); }
  /// Makes the next step due after this time, by the store's clock.
  /// @throws std::invalid_argument for a negative time
  DOCLOCK_EXPORT static Next After(Duration pause);
  /// Makes the next step due at this date, by the store's clock; at once if it is past.
  static Next At(Date due) { return {Kind::kAt, {}, due}; }
  /// Stores the entity, with no further step due. Set `due` of its Attempts, as by
  /// LockingRepository::Update, to have one made all the same. Where many documents are done, call
  /// Worker::EnsureIndexes.
  static Next Done() { return At(Date(Date::TimePoint::max())); }
  /// Erases the document.
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
  /// A document is parked after this many counted failures in a row, at least 1.
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
  Attempts attempts;  ///< As stored. If no worker understands them: new ones, not parked, whose
                      ///< error says so.
};

}  // namespace doclock
