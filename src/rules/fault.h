#pragma once

#include "doclock/store/store.h"

namespace doclock {

// Why no store carries out a request (see StoreOp); null: the request is valid.

inline const char* FaultOf(const GrantRequest& grant) noexcept {
  if (grant.lock_id.is_nil()) return "a lock id must not be nil";
  if (grant.lock_id == kSharedLockId) return "this lock id says that a lock is shared";
  if (grant.mode != LockMode::kShared) return nullptr;
  if (grant.max_holders < 1 || grant.max_holders > kMaxHolders) {
    return "max_holders must be 1 to kMaxHolders";
  }
  return nullptr;
}

/// Returns the fault of a grant to the next free document.
inline const char* FaultOfNext(const GrantRequest& grant) noexcept {
  if (grant.mode == LockMode::kShared) return "shares are taken of named documents";
  return FaultOf(grant);
}

inline const char* FaultOfHandOver(const WriteOp& op) noexcept {
  if (op.request.write != WriteKind::kRelease) return "only a release hands a lock over";
  if (op.request.next->mode == LockMode::kShared) return "a lock is not handed over to a share";
  if (op.request.next->lock_id == op.request.lock_id) return "a lock is not handed over to itself";
  return FaultOf(*op.request.next);
}

inline const char* FaultOf(const WriteOp& op) noexcept {
  if (op.request.next != nullptr) {
    if (const char* const fault = FaultOfHandOver(op)) return fault;
  }
  if (op.request.write == WriteKind::kLeave) {
    const bool plain = !op.request.body && op.request.mode == LockMode::kExclusive;
    return plain ? nullptr : "a waiter leaves the queue of an exclusive lock, without a body";
  }
  if (op.request.mode == LockMode::kExclusive) return nullptr;
  const bool plain = op.request.write == WriteKind::kRelease &&
                     (op.request.merge || !op.request.body) && op.request.next == nullptr &&
                     op.request.expected == kAnyVersion;
  return plain ? nullptr : "a share can be released, with a note at most";
}

inline const char* FaultOf(const SaveOp& op) noexcept {
  if (op.request.save == SaveKind::kInsert && !op.request.body) return "an insert needs a body";
  if (op.request.save == SaveKind::kReplace && op.request.expected == kAnyVersion) {
    return "a replacement needs the version it replaces";
  }
  if (op.request.save == SaveKind::kExpect) return "only a transaction expects a document";
  return nullptr;
}

inline const char* FaultOf(const AcquireOp& op) noexcept { return FaultOf(op.request.grant); }
inline const char* FaultOf(const RenewOp&) noexcept { return nullptr; }
inline const char* FaultOf(const ReadOp&) noexcept { return nullptr; }

/// Returns the fault of any operation.
inline const char* FaultOf(const StoreOp& op) noexcept {
  return Visit(op, [](const auto& one) { return FaultOf(one); });
}

/// The error for a share under an id that already has one.
inline constexpr const char* kShareExistsText = "a live share has this id already";

}  // namespace doclock
