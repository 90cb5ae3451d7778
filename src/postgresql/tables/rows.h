#pragma once

#include <string_view>

#include "locking/database.h"
#include "postgresql/client/values.h"

namespace doclock::postgresql {

// The columns of a document. Times are of the server's clock; a TimePoint counts from 1 January
// 2000, as PostgreSQL does.

/// The key's columns, as all statements name them.
inline constexpr std::string_view kKeyColumns = "key_kind, key_number, key_text";
/// What ReadRow reads, except the body's text, which stands behind it.
inline constexpr std::string_view kReadColumns =
    "key_kind, key_number, key_text, lock_version, lock_id, lock_time, lock_ttl, lock_since,"
    " lock_closed, lock_fence, lock_owner, lock_group, lock_born, lock_released, lock_shares,"
    " lock_queue, ";
inline constexpr std::string_view kWholeBody = "body::text";
/// What AddLock adds, in its order.
inline constexpr std::string_view kLockColumns =
    "lock_version, lock_id, lock_time, lock_ttl, lock_since, lock_closed, lock_fence, lock_owner,"
    " lock_group, lock_born, lock_released, lock_shares, lock_queue";
inline constexpr int kLockColumnCount = 13;

/// A document that was read.
struct FoundRow {
  Key key;
  locking::Entry entry;
  bool malformed = false;  ///< Then `entry` has no lock.
};

FoundRow ReadRow(const Result& result, int row);

void AddLock(Parameters& parameters, const rules::LockState& lock);
/// Adds what a grant makes lock_id, lock_ttl, lock_owner and lock_group.
void AddGrant(Parameters& parameters, const GrantRequest& grant);

/// The time in a column; the zero of time points if it is NULL.
TimePoint TimeAt(const Result& result, int row, int column);

}  // namespace doclock::postgresql
