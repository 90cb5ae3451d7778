#pragma once

#include "doclock/store/store.h"
#include "locking/database.h"

namespace doclock::locking {

/// Decides one operation on its document, which is loaded: fills in the operation's result and the
/// document's decision, by the rules. The result counts once the decision is committed. @param unit
/// tells the time, if the rules need it. @throws what the unit throws
void Decide(StoreOp& op, Document& document, Unit& unit);

/// Decides an acquire of a document that is there.
void DecideAcquire(AcquireOp& op, Document& document, Unit& unit);

}  // namespace doclock::locking
