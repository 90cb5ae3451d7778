#pragma once

#include "engine/engine.h"

namespace doclock::detail {

/// What a release by value sends. Its lease's deadline is unknown here, so only the mark of the
/// release can settle doubt. The mark is its own: the handle, or another copy of the entity, would
/// leave the lock id as the mark, with another body.
WriteOp MakeWrite(const ValueRelease& release);

/// The failure of one that carries no lock, or does not hold it.
FailurePtr NotOwner(const ValueRelease& release) noexcept;
/// The failure of one that the store refused.
FailurePtr RefusalOf(const ValueRelease& release, const WriteOp& write) noexcept;

}  // namespace doclock::detail
