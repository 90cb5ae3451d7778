#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "mongodb/operations/operations.h"
#include "mongodb/protocol/write_command.h"
#include "rules/rules.h"

namespace doclock::mongodb {

/// Executes acquires, writes and saves of one collection, on different documents, in shared
/// commands: a statement for each, and then one look at their effects. An error of one statement
/// does not affect the others. A single operation needs no look. Leaves writes and saves pending
/// that found another document.
class Batch {
 public:
  /// @param alone does no other operation have a part of the time?
  Batch(const Operations& operations, bool alone) : operations_(operations), is_single_(alone) {}
  void Run(std::span<const rules::PlainOp> ops);

 private:
  /// Has a statement taken effect?
  enum class Verdict : std::uint8_t { kDone, kNotDone, kUnknown };
  struct Sight {
    StoredLock lock;
    Body body;  ///< Of a document whose lock an acquire of this batch has got.
  };
  /// A statement, and its outcome.
  struct Statement {
    StoreOp* op = nullptr;
    Doc doc;                             ///< As the command takes it.
    Uuid born{};                         ///< Of a document that it makes.
    std::optional<StoredLock> expected;  ///< Of an acquire: what the last look showed.
    int attempts = 0;
    std::optional<Sight> sight;
    Verdict verdict = Verdict::kUnknown;
  };
  using Statements = std::vector<Statement>;

  [[nodiscard]] bool NeedsOwnCommand(const rules::PlainOp& plain) const;
  /// False: the operation is settled, for its body cannot be put into BSON.
  [[nodiscard]] bool Build(Statement& statement) const;
  static Verdict VerdictOn(const Statement& statement);
  static Verdict VerdictOn(const WriteOp& op, const std::optional<Sight>& sight);
  static Verdict VerdictOn(const SaveOp& op, const Uuid& born, const std::optional<Sight>& sight);
  static bool SeemsDone(const Statement& statement);
  static void Disprove(Statements& statements, std::int64_t done);
  static void Count(Statements& statements, std::int64_t done);
  static void SettleDone(Statement& statement, bool created);
  static void SettleAcquire(const Statement& statement, bool created);

  void SendAll(Verb verb, Statements statements);
  void Send(Verb verb, Statements statements, std::chrono::milliseconds limit);
  void Alone(StoreOp& op);
  bool LookAt(Statements& statements, Operations::Sees sees, Reply& reply);
  /// Settles the statements of a command that was answered.
  void Judge(Verb verb, Statements statements, const Reply& reply);
  void JudgeInserts(Statements statements, const Reply& reply);
  /// Settles those that a look is needed for; `done` is how many of them the server has counted.
  void JudgeBySight(Verb verb, Statements statements, std::int64_t done);
  /// The command as a whole failed: what it has provably not done is sent again. The rest is in
  /// doubt, unless a majority confirms it.
  void Recover(Verb verb, Statements statements, const Reply& reply);
  void SendInParts(Verb verb, Statements statements);
  void Confirm(Statements statements);
  [[nodiscard]] std::chrono::milliseconds Share(int parts) const;
  /// A release that passes the lock on.
  [[nodiscard]] bool BuildForQueue(Statement& statement) const;
  /// True: it is settled, or left to the rules. False: it is worth another attempt.
  bool SettleNotDone(Statement& statement);

  Operations operations_;
  const bool is_single_;
};

}  // namespace doclock::mongodb
