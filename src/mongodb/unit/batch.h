#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "mongodb/statements/statements.h"
#include "mongodb/unit/operations.h"
#include "rules/rules.h"
#include "rules/trace.h"

namespace doclock::mongodb {

/// Executes acquires, writes and saves of one collection, on different documents, in shared
/// commands: a statement for each, and one look at what acquires have met. An error of one
/// statement does not affect the others. A single operation needs no look. Leaves writes and saves
/// pending that found another document.
class Batch {
 public:
  /// @param alone does no other operation have a part of the time?
  Batch(const Operations& operations, bool alone) : operations_(operations), is_single_(alone) {}
  void Run(std::span<const rules::PlainOp> ops);

 private:
  struct Sight {
    StoredLock lock;
    Body body;  ///< The document's, if an acquire of this batch has got its lock.
  };
  /// A statement, and its outcome.
  struct Statement : mongodb::Statement {
    StoreOp* op = nullptr;
    Uuid born{};  ///< Of a document that it makes.
    std::optional<Sight> sight;
  };
  using Statements = std::vector<Statement>;

  [[nodiscard]] bool NeedsOwnCommand(const rules::PlainOp& plain) const;
  /// Returns true; false if the operation is settled, because its body cannot be put into BSON.
  [[nodiscard]] bool Build(Statement& statement) const;
  static void SettleDone(Statement& statement, bool created);
  static void SettleAcquire(const Statement& statement, bool created);

  void SendAll(Verb verb, Statements statements);
  void Send(Verb verb, Statements statements, std::chrono::milliseconds limit);
  void Alone(StoreOp& op);
  bool LookAt(Statements& statements, Operations::Sees sees, Reply& reply);
  /// Returns what the document of a statement shows of it.
  static Trace TraceIn(const Statement& statement);
  /// Settles the statements of a command that was answered.
  void Judge(Verb verb, Statements statements, const Reply& reply);
  static void MetNothing(const Statement& statement);
  void JudgeDeletes(Statements statements, const Reply& reply);
  /// Settles acquires by what their documents show: what was granted to some, and why nothing to
  /// the others.
  void JudgeAcquires(Statements granted, Statements others);
  /// The command as a whole failed: what it has provably not done is sent again.
  void Recover(Verb verb, Statements statements, const Reply& reply);
  void SendInParts(Verb verb, Statements statements);
  [[nodiscard]] std::chrono::milliseconds Share(int parts) const;

  Operations operations_;
  const bool is_single_;
};

}  // namespace doclock::mongodb
