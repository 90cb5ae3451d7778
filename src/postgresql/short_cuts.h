#pragma once

#include <optional>

#include "doclock/store/operation.h"
#include "postgresql/parameters.h"
#include "postgresql/result.h"

namespace doclock::postgresql {

struct Statement;

/// One statement that decides an operation as the rules would, or finds nothing to do: an exclusive
/// lock of a document that is free, and the renewal, release or checkpoint of one that its holder
/// has, while nobody waits.
struct ShortCut {
  StoreOp* op;
  const Statement* statement;
  Parameters parameters;
  bool frees;  ///< Does it free the lock?
};

/// Nothing: the operation needs the long way.
std::optional<ShortCut> ShortCutOf(StoreOp& op);

/// Settles the operation by what its statement gave, once that is committed. It stays pending if
/// the statement found nothing to do.
void Settle(const ShortCut& cut, const Result& result);

}  // namespace doclock::postgresql
