#pragma once

#include <memory>
#include <string>
#include <utility>

#include "doclock/store.h"
#include "memory/document.h"

namespace doclock::memory {

// How operations say that they did not do what was asked.

/// Somebody else holds it, or min_hold keeps it closed.
inline void Busy(StoreOp& op, const Document& document, TimePoint now) {
  op.detail = std::make_unique<OpDetail>();
  op.status = OpStatus::kBusy;
  if (HasLiveLock(document, now)) {
    op.detail->holder = HolderOf(document);
    op.detail->remaining = LeaseLeft(document, now);
  } else {
    op.detail->remaining = Left(document.closed_until - now);
  }
}

/// The document is at another version, or of another life, than the caller knows.
inline void Conflict(StoreOp& op, const Document& document) {
  op.detail = std::make_unique<OpDetail>();
  op.status = OpStatus::kConflict;
  op.detail->found_version = document.version;
}

/// A unique index refuses the body.
inline void Conflict(StoreOp& op, std::string index) {
  op.detail = std::make_unique<OpDetail>();
  op.status = OpStatus::kConflict;
  op.detail->index = std::move(index);
}

/// What a grant tells of its document.
inline void FillIn(AcquireOp& op, const Document& document) {
  op.version = document.version;
  op.born = document.born;
  op.body = document.body;
}

inline void Done(StoreOp& op) noexcept { op.status = OpStatus::kDone; }

}  // namespace doclock::memory
