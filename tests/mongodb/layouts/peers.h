#pragma once

#include <array>
#include <memory>
#include <string>

#include "mongodb/layouts/distributed_lock_peer.h"
#include "mongodb/layouts/document_lock_peer.h"
#include "mongodb/layouts/pessimistic_lock_peer.h"

namespace doclock::mongo_test {

/// The layouts whose libraries have a LockPeer.
inline const std::array<std::string, 3> kLayouts = {"distributedlock", "pessimisticlock",
                                                    "mongolocks"};

/// Is it MongoLocks', whose documents are named by UUIDs and stay?
inline bool HasDocuments(const std::string& layout) { return layout.starts_with("mongolocks"); }

/// The name of the lock in a layout's tests.
inline std::string JobIn(const std::string& layout) {
  return HasDocuments(layout) ? "3f0c7b1e-5a55-4bd2-9a43-0d1c1a6f9e11" : "job";
}

/// The re-created library of this layout.
inline std::unique_ptr<LockPeer> MakePeer(const std::string& layout, const std::string& uri,
                                          const std::string& database,
                                          const std::string& collection) {
  if (layout == "distributedlock") {
    return std::make_unique<DistributedLockPeer>(uri, database, collection);
  }
  if (HasDocuments(layout)) {
    return std::make_unique<DocumentLockPeer>(uri, database, collection);
  }
  return std::make_unique<PessimisticLockPeer>(uri, database, collection);
}

}  // namespace doclock::mongo_test
