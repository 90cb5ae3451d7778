#pragma once

#include <array>
#include <memory>
#include <string>

#include "mongodb/layouts/distributed_lock_peer.h"
#include "mongodb/layouts/pessimistic_lock_peer.h"

namespace doclock::mongo_test {

/// The layouts whose libraries have a LockPeer.
inline const std::array<std::string, 2> kLayouts = {"distributedlock", "pessimisticlock"};

/// The re-created library of this layout.
inline std::unique_ptr<LockPeer> MakePeer(const std::string& layout, const std::string& uri,
                                          const std::string& database,
                                          const std::string& collection) {
  if (layout == "distributedlock") {
    return std::make_unique<DistributedLockPeer>(uri, database, collection);
  }
  return std::make_unique<PessimisticLockPeer>(uri, database, collection);
}

}  // namespace doclock::mongo_test
