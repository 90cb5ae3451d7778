#pragma once

#include <memory>
#include <type_traits>

#include "doclock/store.h"

namespace doclock::simulation {

// The results of an operation, from its copy at the database to the original at the process.

inline void CopyResult(const AcquireOp& from, AcquireOp& to) {
  to.version = from.version;
  to.born = from.born;
  to.body = from.body;
  to.created = from.created;
  to.took_over = from.took_over;
  to.passed_on = from.passed_on;
  to.queued = from.queued;
  to.ahead = from.ahead;
}
inline void CopyResult(const RenewOp&, RenewOp&) {}
inline void CopyResult(const WriteOp& from, WriteOp& to) { to.version = from.version; }
inline void CopyResult(const SaveOp& from, SaveOp& to) {
  to.version = from.version;
  if (from.save == SaveKind::kInsert) to.born = from.born;
}
inline void CopyResult(const ReadOp& from, ReadOp& to) {
  to.body = from.body;
  to.version = from.version;
  to.born = from.born;
  to.lock_id = from.lock_id;
  to.released = from.released;
  to.locked = from.locked;
  to.holder = from.holder;
  to.remaining = from.remaining;
}

/// Of operations of one kind.
inline void CopyAnyResult(const StoreOp& from, StoreOp& to) {
  to.status = from.status;
  to.detail = from.detail ? std::make_unique<OpDetail>(*from.detail) : nullptr;
  Visit(to, [&](auto& op) {
    CopyResult(static_cast<const std::remove_reference_t<decltype(op)>&>(from), op);
  });
}

}  // namespace doclock::simulation
