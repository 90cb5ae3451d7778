#pragma once

#include "doclock/store.h"

namespace doclock::locking {

/// The order in which all clients load documents: units that lock what they load cannot wait for
/// each other in a circle.
inline bool StandsBefore(const StoreOp* a, const StoreOp* b) {
  if (a->collection != b->collection) return a->collection->name() < b->collection->name();
  return *a->key < *b->key;
}

}  // namespace doclock::locking
