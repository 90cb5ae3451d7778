#pragma once

#include "doclock/store.h"
#include "memory/document.h"

namespace doclock::memory {

// Shared locks. The document's own lease (lock_time, ttl, owner) is that of the share which ends
// last, so that those who want the document exclusively need not look at the shares. All of these
// run under the shard's mutex.

/// Grants a share of a document that exists, or says why not.
void AcquireShare(AcquireOp& op, Document& document, TimePoint now);

/// Grants the first share of a document that nobody holds.
void GrantShare(Document& document, const GrantRequest& grant, TimePoint now);

/// An exclusive attempt was refused: leaves its intent, if shares stand in its way and no other
/// intent does.
void LeaveIntent(Document& document, const GrantRequest& grant, TimePoint now);

/// Renews one share.
void RenewShare(RenewOp& op, Document& document, TimePoint now);

/// Is there a live share of this id?
bool HasShare(Document& document, const Uuid& id, TimePoint now) noexcept;

/// Releases one share, which there is.
void ReleaseShare(WriteOp& op, Document& document, TimePoint now);

/// Ends the leases of all shares. There are some.
void ExpireShares(Document& document, TimePoint now);

}  // namespace doclock::memory
