#pragma once

#include <array>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "doclock/testing/manual_clock.h"
#include "rules/lock_state.h"
#include "sqlite/locks/lock_reader.h"
#include "sqlite/support/harness.h"

namespace doclock::sqlite_test {

using OptionalState = std::optional<rules::LockState>;

/// A file, two stores that use it, and one who looks at all that is stored of a lock.
class RulesWorld {
 public:
  explicit RulesWorld(std::shared_ptr<testing::ManualClock> clock);

  /// @param which 0 or 1
  [[nodiscard]] Client& client(int which) { return *clients_[static_cast<std::size_t>(which)]; }
  /// Ends the second store, as the death of its process would, and opens another one.
  void Reopen();
  /// All times are of an earlier boot from now on.
  void Reboot();
  /// The next renewals look the lock up.
  void ForgetRenewedRows();

  /// As the store `which` knows it. Nothing: there is no such document.
  [[nodiscard]] OptionalState Look(const Key& key, int which = 0);

 private:
  [[nodiscard]] Client Opened() const {
    return Client(file_, {.sync = SqliteSync::kOff, .clock = clock_});
  }

  [[nodiscard]] std::unique_ptr<sqlite::LeaseEvaluator> NewEvaluator() const;

  std::shared_ptr<testing::ManualClock> clock_;
  TempFolder folder_;
  std::filesystem::path file_ = folder_ / "things.db";
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<sqlite::Connection> connection_;
  std::unique_ptr<sqlite::ProcessCoordinator> coordinator_;
  /// What each store knows of the locks of earlier boots.
  std::array<std::unique_ptr<sqlite::LeaseEvaluator>, 2> evaluators_;
  sqlite::Owners owners_;
  sqlite::SqliteCollection collection_{"things", {}, 30s, 0};
};

/// A random operation, or something that happens to the file.
struct RulesStep {
  enum class Kind {
    kAcquire,
    kCreate,
    kQueue,
    kShare,
    kShareAgain,
    kQueueAgain,
    kRenew,
    kRenewShare,
    kCheckpoint,
    kRelease,
    kReleaseByValue,
    kReleaseShare,
    kNoteShare,
    kHandOver,
    kLeave,
    kErase,
    kExpire,  ///< what an operator does to a lock, or to a share, that another holds
    kBreak,
    kSteal,
    kInsert,
    kReplace,
    kSaveErase,
    kPurge,
    kAdvance,
    kReopen,
    kReboot,
  };
  static constexpr int kKinds = static_cast<int>(Kind::kReboot) + 1;

  Kind kind = Kind::kAcquire;
  int who = 0;     ///< Which attempt, the latest for 0.
  int number = 0;  ///< What else there is to choose.

  [[nodiscard]] std::chrono::milliseconds ttl() const { return (1 + number % 5) * 10s; }
  [[nodiscard]] bool Bit(int which) const { return ((number >> which) & 1) != 0; }
};

inline void showValue(const RulesStep& step, std::ostream& out) {
  out << static_cast<int>(step.kind) << " of " << step.who << ", " << step.number;
}

/// The attempts of one case on one document.
class RulesCase {
 public:
  explicit RulesCase(Key key) : key_(std::move(key)) {}

  [[nodiscard]] const Key& key() const noexcept { return key_; }
  /// Call it once for each step, before Make.
  void Begin(const RulesStep& step);
  /// Makes the operation of a step that is one (anything before kPurge), the same at each call.
  /// @param state of the document, whose version and incarnation the operation knows
  template <class Use>
  void Make(const RulesStep& step, Collection& collection, const OptionalState& state,
            const Use& use) {
    using Kind = RulesStep::Kind;
    if (step.kind <= Kind::kQueueAgain) {
      AcquireOp op = Acquire(step, collection);
      use(op);
    } else if (step.kind <= Kind::kRenewShare) {
      RenewOp op = Renew(step, collection);
      use(op);
    } else if (step.kind <= Kind::kErase) {
      WriteOp op = Write(step, collection, state);
      use(op);
    } else if (step.kind <= Kind::kSteal) {
      WriteOp op = Intervene(step, collection, state);
      use(op);
    } else {
      SaveOp op = Save(step, collection, state);
      use(op);
    }
  }

  /// Everything of a state that means something.
  [[nodiscard]] std::string TextOf(const OptionalState& state, TimePoint now) const;

 private:
  [[nodiscard]] AcquireOp Acquire(const RulesStep& step, Collection& collection) const;
  [[nodiscard]] RenewOp Renew(const RulesStep& step, Collection& collection) const;
  [[nodiscard]] WriteOp Write(const RulesStep& step, Collection& collection,
                              const OptionalState& state);
  [[nodiscard]] WriteOp Intervene(const RulesStep& step, Collection& collection,
                                  const OptionalState& state);
  [[nodiscard]] SaveOp Save(const RulesStep& step, Collection& collection,
                            const OptionalState& state) const;
  [[nodiscard]] Uuid IdOf(const RulesStep& step) const;
  [[nodiscard]] std::string NameOf(const Uuid& id) const;

  Key key_;
  std::vector<Uuid> ids_;
  Uuid write_id_{};
  GrantRequest next_;
};

/// What the store, or the rules, said.
std::string Said(const AcquireOp& op);
std::string Said(const RenewOp& op);
std::string Said(const WriteOp& op);
std::string Said(const SaveOp& op);

}  // namespace doclock::sqlite_test
