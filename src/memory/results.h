#pragma once

#include <memory>
#include <string>
#include <utility>

#include "doclock/store.h"
#include "document/utf8.h"
#include "memory/document.h"
#include "memory/indexes.h"

namespace doclock::memory {

// How operations say that they did not do what was asked.

/// A lease, or min_hold, stands in the way until `end`.
inline void BusyUntil(StoreOp& op, const Document& document, TimePoint end, TimePoint now) {
  op.detail = std::make_unique<OpDetail>();
  op.status = OpStatus::kBusy;
  if (HasLiveLock(document, now)) {
    op.detail->holder = HolderOf(document);
  } else if (IsClosed(document, now)) {
    op.detail->message = "min_hold";
  }
  op.detail->remaining = Left(end - now);
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

/// False: the body holds text that is not valid UTF-8; the operation is settled.
inline bool HasGoodText(StoreOp& op, const Body& body) {
  if (detail::AllTextIsUtf8(TreeOf(body))) return true;
  op.Fail(Errc::kDocument, "the body holds a string that is not valid UTF-8");
  return false;
}

/// What a grant tells of its document.
inline void FillIn(AcquireOp& op, const Document& document) {
  op.version = document.version;
  op.born = document.born;
  op.body = document.body;
}

inline void Done(StoreOp& op) noexcept { op.status = OpStatus::kDone; }

}  // namespace doclock::memory
