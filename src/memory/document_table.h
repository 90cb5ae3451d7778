#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <memory>

#include "memory/document.h"

namespace doclock::memory {

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
