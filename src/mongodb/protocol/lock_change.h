#pragma once

#include <string>

#include "doclock/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/protocol/stored_lock.h"

namespace doclock::mongodb {

/// A condition of a filter: the field is as this document shows it, by value, type and presence. A
/// comparison alone takes an array for each of its elements, null for a missing field, and one type
/// of number for another.
void AddAsSeen(Doc& filter, const std::string& field, const bson_t& seen);

/// A change of a document that the rules decided here, from what was read before: a write under its
/// lock, or in place of one that is over, an exclusive grant, a lock that is given up or cleared,
/// or a waiter that leaves. No renewal.
struct LockChange {
  const Collection& collection;
  const Key& key;
  const StoredLock& was;  ///< With `seen`.
  const rules::LockState& now;
  Body body{};  ///< From now on; none: it stays as it is.
  Body base{};  ///< What differs from this one is sent.
  bool erases = false;
};

/// The statement of an update, or of a delete. It matches only while the document shows what the
/// decision rested on, so other clients may write meanwhile. What the rules say of a time that is
/// over stays true while the fields stay.
Doc StatementOf(const LockChange& change);

}  // namespace doclock::mongodb
