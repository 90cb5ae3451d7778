#include "mongodb/operations/operations.h"
#include "mongodb/protocol/write_command.h"

namespace doclock::mongodb {

void Operations::Execute(SaveOp& op) {
  const bool inserts = op.save == SaveKind::kInsert;
  const Uuid born = inserts ? NewUuid() : Uuid{};
  Reply reply;
  WriteOne(op, StatementOf(op, nullptr, born), reply);
  if (Settled(op, Single(reply)) || Single(reply).is_duplicate()) return;
  if (!inserts && reply.Integer("n") == 0) return;
  if (inserts) op.born = born;
  op.version = inserts ? 1 : op.expected + 1;
  op.status = OpStatus::kDone;
}

}  // namespace doclock::mongodb
