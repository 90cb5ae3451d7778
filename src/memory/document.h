#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "doclock/key.h"
#include "locking/database.h"

namespace doclock::memory {

struct IndexEntry;
using EntryPtr = std::shared_ptr<const IndexEntry>;

/// A stored document. A unit shows it as the entry that it is (Change::was).
struct Document : locking::Entry {
  Document(Key k, std::size_t key_hash, Entry&& entry)
      : Entry(std::move(entry)), key(std::move(k)), hash(key_hash) {}

  Key key;
  std::size_t hash;               ///< key.Hash()
  std::vector<EntryPtr> entries;  ///< one in each index of the collection
};

/// A reference to a document's key, with its hash.
struct KeyRef {
  std::size_t hash;
  const Key* key;  ///< In the table: the document's own.

  bool operator==(const KeyRef& other) const noexcept {
    return hash == other.hash && *key == *other.key;
  }
};

struct KnownHash {
  std::size_t operator()(const KeyRef& ref) const noexcept { return ref.hash; }
};

using DocumentTable = boost::unordered_flat_map<KeyRef, std::unique_ptr<Document>, KnownHash>;

}  // namespace doclock::memory
