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
    kExpire,  ///< what the testing kit does to a lock: see testing/intervene.h
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
    // Those below are in mixed traces only (see Trace).
    kCreateForLong,
    kShareForLong,
    kAcquireAgain,  ///< exclusively, under the id of an earlier attempt
    kCreateAgain,   ///< the same, and makes the document
    kHandOverToItself,
    kReleasePlain,  ///< leaves the body alone
    kCheckpointPlain,
    kReplacePlain,
    kRenewShares,  ///< those of the last few attempts, in one call
    kRead,
    kSearchNext,  ///< takes the first one of a search
    kQuery,
    kIndex,  ///< creates an index that no step sees
    kUniqueIndex,
    kSpoil,   ///< the fields of the lock
    kPlant,   ///< creates a document as a program does that does not know locks
    kCommit,  ///< writes of several documents, all or none (see PartOf)
  };
  static constexpr int kKinds = static_cast<int>(Kind::kInsertNothing) + 1;
  static constexpr int kMixedKinds = static_cast<int>(Kind::kCommit) + 1;

  Kind kind = Kind::kAcquire;
  int key = 0;          ///< which document
  int who = 0;          ///< which attempt to take a lock (see Attempts)
  int number = 0;       ///< value of the body; whatever else below is derived from it
  bool stale = false;   ///< use a version that was right one write ago
  int shape = 0;        ///< what the body has besides its value (see ContentOf)
  bool joined = false;  ///< in one call with the step before, where that is possible (see TurnsOf)

  [[nodiscard]] const char* verb() const;
  /// Under the id of an earlier attempt?
  [[nodiscard]] bool again() const;
  /// Does it take a lock, and make the document?
  [[nodiscard]] bool creates() const;
  /// Of a share?
  [[nodiscard]] bool shared() const;
  /// With a min_hold?
  [[nodiscard]] bool for_long() const;
  /// Of a lease, in ticks.
  [[nodiscard]] int ttl() const { return 1 + number % 5; }
  /// Of a min_hold, in ticks: at times shorter than the lease.
  [[nodiscard]] int min_hold() const { return 1 + number % 7; }
  /// The limit of shares.
  [[nodiscard]] int limit() const { return 1 + number / 10; }
  /// How many documents a commit writes: 1 to 4.
  [[nodiscard]] int parts() const { return 1 + number / 10; }
  /// How many ticks pass.
  [[nodiscard]] int pause() const { return number % 4; }

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

/// The documents of mixed traces: as many as a commit can have.
inline constexpr int kDocuments = 4;

/// Steps that are one call of a store: mostly one.
using Turn = std::vector<Step>;

/// Joins what is to be joined: operations on different documents, in one call of Store::Execute.
std::vector<Turn> TurnsOf(const std::vector<Step>& steps);

/// Is it one operation of Store::Execute (or several), and not a call of its own kind?
bool IsExecuted(Step::Kind kind);

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
  /// The last `count` of a document, or fewer.
  [[nodiscard]] std::vector<int> Last(int key, int count) const;

 private:
  std::map<int, std::vector<int>> of_key_;
  int count_ = 0;
};

/// What a commit has to know of a document.
struct Seen {
  bool there = false;
  bool live = false;
  int holder = 0;
};

/// The document of one part of a commit.
inline int KeyOfPart(const Step& commit, int place) { return (commit.key + place) % kDocuments; }

/// One write of a commit: mostly one that is not refused, given what is stored.
Step PartOf(const Step& commit, int place, const Seen& seen, const Attempts& attempts);

}  // namespace doclock::conformance
