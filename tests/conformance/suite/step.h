#pragma once

#include <chrono>
#include <map>
#include <ostream>
#include <vector>

namespace doclock::conformance {

/// One step of a random trace: small numbers that the players turn into operations.
struct Step {
  enum class Kind {
    kAcquire,
    kCreate,
    kWant,  ///< an exclusive attempt of a writer who waits: it leaves an intent
    kShare,
    kCreateShared,
    kRenew,
    kRenewShare,
    kRelease,
    kReleaseShare,
    kReleaseWithNote,  ///< a share; what is noted is the value of the body
    kReleaseByValue,
    kCheckpoint,
    kHandOver,
    kErase,
    kInsert,
    kReplace,
    kSaveErase,
    kExpire,
    kBreak,
    kSteal,
    kPurge,
    kAdvance,
    kAcquireForLong,   ///< with a min_hold
    kHandOverForLong,  ///< to a grant with a min_hold
    kAcquireNil,       ///< under a nil id
    kShareAgain,       ///< under the id of an earlier attempt
    kNext,             ///< the first document that is free
    kInsertNothing,    ///< without a body
  };
  static constexpr int kKinds = static_cast<int>(Kind::kInsertNothing) + 1;

  Kind kind = Kind::kAcquire;
  int key = 0;         ///< which document
  int who = 0;         ///< which attempt to take a lock (see Attempts), or which waiting writer
  int number = 0;      ///< value of the body; whatever else below is derived from it
  bool stale = false;  ///< use a version that was right one write ago

  [[nodiscard]] const char* verb() const;
  /// Of a lease, in ticks.
  [[nodiscard]] int ttl() const { return 1 + number % 5; }
  /// Of an intent, in ticks.
  [[nodiscard]] int intent() const { return 1 + number % 8; }
  /// Of a min_hold, in ticks: at times shorter than the lease.
  [[nodiscard]] int min_hold() const { return 1 + number % 7; }
  /// The limit of shares.
  [[nodiscard]] int limit() const { return 1 + number / 10; }
  /// How many ticks pass.
  [[nodiscard]] int pause() const { return number % 4; }
  /// Whose intent it is.
  [[nodiscard]] int writer() const { return who % kWriters; }

  static constexpr int kWriters = 3;
  static constexpr int kMaxWho = 6;
  static constexpr int kMaxNumber = 40;
};

/// Traces count time in these. A real server's clock goes on while a trace is played, by less: on a
/// busy machine a long one takes more than ten seconds.
inline constexpr std::chrono::seconds kTick{30};
/// Of a lock that was stolen, in ticks.
inline constexpr int kStolenTicks = 1;
/// Of a lock of the next document, in ticks.
inline constexpr int kNextTicks = 1;

void PrintTo(const Step& step, std::ostream* out);
inline void showValue(const Step& step, std::ostream& out) { PrintTo(step, &out); }

/// Numbers the attempts to take locks from 1, whatever became of them: stores and model alike.
class Attempts {
 public:
  int Add(int key) {
    of_key_[key].push_back(++count_);
    return count_;
  }
  /// The one a step speaks of, the latest of its document for 0; 0: there is none. The last of all
  /// `who` means the latest of any document.
  [[nodiscard]] int Of(const Step& step) const;

 private:
  std::map<int, std::vector<int>> of_key_;
  int count_ = 0;
};

}  // namespace doclock::conformance
