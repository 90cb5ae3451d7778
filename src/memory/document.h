#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "doclock/key.h"
#include "rules/lock_state.h"

namespace doclock::memory {

struct IndexEntry;
using EntryPtr = std::shared_ptr<const IndexEntry>;

/// A stored document.
struct Document {
  Document(Key k, std::size_t key_hash) : key(std::move(k)), hash(key_hash) {}

  Key key;
  std::size_t hash;  ///< key.Hash()
  rules::LockState lock;
  Body body;
  std::vector<EntryPtr> entries;  ///< one in each index of the collection
};

}  // namespace doclock::memory
