#include "rules/tidying.h"

namespace doclock::rules {

void Purge(LockState& state) noexcept {
  state.shares.clear();
  state.lock_id = Uuid{};
  state.queue.clear();
  state.owner = nullptr;
}

}  // namespace doclock::rules
