#pragma once

#include "locking/database.h"

namespace doclock::mongodb {

/// A write of a body whose answer was lost meets another lock, or none. If the body stands there, a
/// release has done its work; one that hands the lock over, if that is the next holder's. Else what
/// became of it is not known.
void JudgeRetry(locking::Database& database, StoreOp& op, locking::Deadline deadline);

}  // namespace doclock::mongodb
