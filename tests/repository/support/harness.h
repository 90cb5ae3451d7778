#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "doclock/doclock.h"
#include "repository/support/entities.h"
#include "repository/support/fixtures.h"

namespace doclock {

using nlohmann::json;

class RepositoryTest : public VirtualTest {
 protected:
  /// The stored document; empty if there is none.
  template <class K>
  std::optional<json> Stored(const K& key, const std::string& collection = "sagas") {
    auto found = LockingRepository<json>(manager, collection).Find(Key(key));
    if (!found) return std::nullopt;
    return **found;
  }
  bool IsLocked(const Key& key, const std::string& collection = "sagas") {
    return LockingRepository<json>(manager, collection).Find(key).value().locked();
  }
  std::int64_t Version(const Key& key, const std::string& collection = "sagas") {
    return LockingRepository<json>(manager, collection).Find(key).value().version();
  }
  void Put(const Key& key, const json& body, const std::string& collection = "sagas") {
    LockingRepository<json>(manager, collection).Insert(key, body);
  }
  int Writes() { return store->Count(OpKind::kWrite) + store->Count(OpKind::kSave); }

  LockingRepository<Saga> sagas{manager, "sagas"};
};

}  // namespace doclock
