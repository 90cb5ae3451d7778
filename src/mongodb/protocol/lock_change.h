#pragma once

#include "doclock/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/protocol/stored_lock.h"

namespace doclock::mongodb {

/// A change of a lock that the rules decided here, from what was read before: of one that is given
/// up, left by a waiter, or cleared. The body stays as it is.
struct LockChange {
  const Collection& collection;
  const Key& key;
  const StoredLock& was;
  const bson_t& seen;  ///< The fields of the lock, as they were read.
  const rules::LockState& now;
};

/// The statement of an update. It matches only while the document shows what the decision rested
/// on, so other clients may write meanwhile. What the rules say of a time that is over stays true
/// while the fields stay.
Doc StatementOf(const LockChange& change);

}  // namespace doclock::mongodb
